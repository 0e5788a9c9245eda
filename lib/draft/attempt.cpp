#include "draft/attempt.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "draft/buckets.hpp"
#include "draft/decide.hpp"
#include "draft/numbering.hpp"
#include "draft/questions.hpp"
#include "draft/trial.hpp"
#include "layout/name_groups.hpp"
#include "layout/naming.hpp"

namespace ckpt::drafting {

namespace {

/// What `indices` puts on some coordinates needs no `at` for them.
void leave_implied(Keys& keys, const At& implied) {
  if (!keys.at) return;
  for (const auto& [axis, coordinates] : implied) {
    keys.at->erase(axis);
    keys.at_last.erase(axis);
  }
  if (keys.at->empty()) keys.at.reset();
}

/// Whether a larger multiple would give the same padding on this mesh.
bool has_larger_multiple(const Question& question, Keys keys, const Mesh& mesh, CardData& cards) {
  if (!keys.pad) return false;
  for (auto& [dim, pad] : *keys.pad) pad.multiple_of *= 2;
  return Trial(mesh, question, cards, nullptr).resolved(keys).has_value();
}

/// The tensors of the reference that no card stores.
void add_missing(Attempt& attempt, const std::vector<Question>& questions, const WholeTensors& whole) {
  std::set<std::string> there;
  for (const Question& question : questions) there.insert(question.name);
  for (const Tensor& tensor : whole.tensors())
    if (!there.contains(tensor.name) && !attempt.open.contains(tensor.name)) {
      attempt.missing.push_back(tensor.name);
      attempt.open[tensor.name] = {
          "no card stores it under this name", {"a member of \"buckets\"", "\"rename\""}, "where it is"};
    }
}

}  // namespace

Layout Attempt::with_rules() const {
  std::vector<std::string> names;
  for (const auto& [name, why] : open) names.push_back(name);
  Layout result = layout;
  result.parameters = write_rules(decided, names, layout);
  return result;
}

Attempt attempt(Layout layout, std::vector<NameFacts> facts, CardData& cards, WholeTensors* whole) {
  Attempt result;
  result.layout = std::move(layout);
  result.open = number_names(result.layout, facts, cards, whole);
  std::erase_if(facts, [&](const NameFacts& fact) { return result.open.contains(fact.name); });
  Questions questions = ask(result.layout, facts, whole);
  Decisions decisions = decide(result.layout, questions.all, cards, whole);
  result.open.merge(questions.open);
  result.open.merge(decisions.open);
  std::vector<std::string> followers;
  for (const auto& [name, leader] : decisions.followed) followers.push_back(name);
  for (const std::string& group : describe_groups(group_names(followers)))
    result.notes.push_back(group +
                           ": taken to be cut as what it is named after, which its shapes allow but do not prove");
  std::vector<std::string> by_shape;
  std::vector<std::string> padded;
  const Naming naming(result.layout);
  for (const Question& question : questions.all) {
    const auto keys = decisions.keys.find(question.name);
    if (keys == decisions.keys.end()) continue;
    if (has_larger_multiple(question, keys->second, result.layout.mesh, cards)) padded.push_back(question.name);
    if (question.expected && !question.has_data && keys->second.split) by_shape.push_back(question.name);
    leave_implied(keys->second, naming.uncounted(question.name).at);
    result.decided.push_back({question.name, keys->second, question.expected.value_or(question.first().shape)});
  }
  if (!by_shape.empty())
    result.notes.push_back(
        join(describe_groups(group_names(by_shape)), 4) +
        ": decided by shapes alone, which do not show whether a dimension is fused, each of its parts "
        "cut by itself (\"parts\": QKV, gate and up)");
  if (whole != nullptr) {
    add_missing(result, questions.all, *whole);
    find_buckets(result, facts, cards, *whole);
    for (const Bucket& bucket : result.layout.buckets)
      for (const BucketMember& member : bucket.members)
        if (member.keys.pad) padded.push_back(member.name);
  }
  if (!padded.empty())
    result.notes.push_back(
        join(describe_groups(group_names(padded)), 4) +
        ": \"multiple_of\" is the least that gives this padding; on another mesh that of the job counts");
  return result;
}

}  // namespace ckpt::drafting
