#include "diagnosis/draft/attempt.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "diagnosis/draft/buckets.hpp"
#include "diagnosis/draft/decide.hpp"
#include "diagnosis/draft/fused_names.hpp"
#include "diagnosis/draft/numbering.hpp"
#include "diagnosis/draft/questions.hpp"
#include "diagnosis/draft/trial.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/names/naming.hpp"

namespace ckpt::drafting {

namespace {

/// Whether a larger multiple would give the same padding on this mesh.
bool has_larger_multiple(const Question& question, Keys keys, const Mesh& mesh, CardData& cards) {
  if (!keys.pad) return false;
  for (auto& [dim, pad] : *keys.pad) pad.multiple_of *= 2;
  return Trial(mesh, question, cards, nullptr).resolved(keys).has_value();
}

/// Adds the reference's tensors that no card stores. Those whose names have unexplained numbers are missing, but not
/// reported again as open.
void add_missing(Attempt& attempt, const std::vector<Question>& questions, const std::vector<Pattern>& unexplained,
                 const WholeTensors& whole) {
  std::set<std::string> there;
  for (const Question& question : questions) there.insert(question.name);
  for (const Tensor& tensor : whole.tensors())
    if (!there.contains(tensor.name) && !attempt.open.contains(tensor.name)) {
      attempt.missing.push_back(tensor.name);
      if (std::none_of(unexplained.begin(), unexplained.end(),
                       [&](const Pattern& numbers) { return numbers.matches(tensor.name); }))
        attempt.open[tensor.name] = {
            "no card stores it under this name", {"a member of \"buckets\"", "\"rename\""}, "where it is"};
    }
}

/// All names, those that differ in numbers as one.
std::string listed(const std::vector<std::string>& names) {
  const std::vector<std::string> groups = describe_groups(group_names(names));
  return join(groups, groups.size());
}

}  // namespace

Layout Attempt::with_rules() const {
  std::vector<std::string> names;
  for (const auto& [name, why] : open) names.push_back(name);
  Layout result = layout;
  result.parameters = write_rules(decided, names, layout);
  return result;
}

Attempt attempt(Layout layout, std::vector<NameFacts> facts, CardData& cards, WholeTensors* whole,
                const std::vector<Pattern>& unfused) {
  Attempt result;
  result.layout = std::move(layout);
  NumbersLeft numbers = number_names(result.layout, facts, cards, whole);
  result.open = std::move(numbers.open);
  std::erase_if(facts, [&](const NameFacts& fact) { return result.open.contains(fact.name); });
  Questions questions = ask(result.layout, facts, whole);
  Decisions decisions = decide(result.layout.mesh, questions.all, cards, whole, unfused);
  result.open.merge(questions.open);
  for (auto& [name, open] : decisions.open)
    if (const auto more = numbers.may_count.find(name); more != numbers.may_count.end())
      open.candidates.insert(open.candidates.end(), more->second.begin(), more->second.end());
  result.open.merge(decisions.open);
  if (!decisions.followed.empty())
    result.notes.push_back(listed(decisions.followed) +
                           ": taken to be cut as what has a name like theirs (a moment and its weight, a bias and its "
                           "matrix), which their "
                           "shapes allow but do not prove");
  if (!decisions.either_uneven.empty())
    result.notes.push_back(listed(decisions.either_uneven) +
                           ": \"ceil\" and \"balanced\" give the same pieces here, and nothing shows which it is; on "
                           "another mesh that of the job counts");
  std::vector<std::string> by_shape;
  std::vector<std::string> usually_fused;
  std::vector<std::string> padded;
  for (const Question& question : questions.all) {
    const auto keys = decisions.keys.find(question.name);
    if (keys == decisions.keys.end()) continue;
    if (has_larger_multiple(question, keys->second, result.layout.mesh, cards)) padded.push_back(question.name);
    if (question.expected && !question.has_data && keys->second.split) {
      const bool is_unlikely = usual_parts(question.name) != 0 && !keys->second.parts;
      (is_unlikely ? usually_fused : by_shape).push_back(question.name);
    }
    leave_implied(keys->second, question.implied);
    result.decided.push_back({question.name, keys->second, question.expected.value_or(question.first().shape)});
  }
  if (!by_shape.empty())
    result.notes.push_back(listed(by_shape) +
                           ": cut as a whole, which their shapes allow and --unfused or the name of a like one says");
  if (!usually_fused.empty())
    result.notes.push_back(
        listed(usually_fused) +
        ": cut as a whole, as --unfused says, although tensors of such names are usually fused; if they "
        "are, the merged model is wrong: give these rules \"parts\"");
  if (whole != nullptr) {
    add_missing(result, questions.all, numbers.unexplained, *whole);
    find_buckets(result, facts, cards, *whole);
    for (const Bucket& bucket : result.layout.buckets)
      for (const BucketMember& member : bucket.members)
        if (member.keys.pad) padded.push_back(member.name);
  }
  if (!padded.empty())
    result.notes.push_back(
        listed(padded) +
        ": padded by the least multiple that explains it; if the job pads to one of its own, such as 128, write "
        "\"multiple_of\": 128 into their \"pad\" before you cut for another mesh");
  return result;
}

}  // namespace ckpt::drafting
