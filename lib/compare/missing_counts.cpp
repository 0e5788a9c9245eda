#include "compare/missing_counts.hpp"

#include <algorithm>

#include "layout/language/layout_changes.hpp"
#include "layout/names/name_groups.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The patterns of numbers in a parameter's name that `indices` does not count, in the order of the numbers.
std::vector<Pattern> uncounted(const Placement& placement, ParameterId parameter) {
  const std::string& name = placement.tensors()[parameter].name;
  std::vector<std::string> names;
  for (const Tensor& tensor : placement.tensors()) names.push_back(tensor.name);
  std::map<std::size_t, Pattern> by_place;
  for (const std::string& text : counter_patterns(names)) {
    Pattern pattern(text, {"i"});
    if (const auto found = pattern.find(name, "i")) by_place.try_emplace(found->position, std::move(pattern));
  }
  for (const IndexRule& rule : placement.layout().indices)
    if (const auto found = rule.in.find(name, "i")) by_place.erase(found->position);
  std::vector<Pattern> patterns;
  for (auto& [place, pattern] : by_place) patterns.push_back(std::move(pattern));
  return patterns;
}

/// One parameter for each kind of name that one of the patterns counts.
std::vector<ParameterId> counted_by(const Placement& placement, const std::vector<Pattern>& patterns) {
  std::vector<std::string> names;
  for (const Tensor& tensor : placement.tensors())
    if (std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& each) { return each.matches(tensor.name); }))
      names.push_back(tensor.name);
  std::vector<ParameterId> parameters;
  for (const NameGroup& group : group_names(names)) {
    const ParameterId parameter = *placement.find(group.names.front());
    if (!placement.tensors()[parameter].verbatim && !placement.shardings()[parameter].bucket)
      parameters.push_back(parameter);
  }
  return parameters;
}

/// Whether cards that differ only on this axis hold the same of a parameter that is not constant.
template <class CardSample>
bool is_same_along(const Mesh& mesh, const std::vector<CardSample>& copies, Axis axis) {
  std::map<Position, std::uint64_t> digest_of;  // by the position with coordinate 0 on the axis
  bool is_constant = true;
  for (const CardSample& each : copies) {
    is_constant = is_constant && each.is_constant;
    const Position others = each.card - mesh.coordinate(each.card, axis) * mesh.stride(axis);
    if (digest_of.try_emplace(others, each.digest).first->second != each.digest) return false;
  }
  return !is_constant;
}

}  // namespace

const std::vector<IndexRule>& MissingCounts::of(ParameterId parameter, const std::vector<Axis>& axes) {
  std::vector<std::string> kind = text_and_numbers(files_.placement.tensors()[parameter].name);
  for (std::size_t i = 1; i < kind.size(); i += 2) kind[i].clear();
  const auto [known, is_new] = known_.try_emplace({std::move(kind), axes});
  if (is_new) known->second = found(parameter, axes);
  return known->second;
}

void MissingCounts::sample(const std::vector<ParameterId>& parameters) {
  std::vector<CardSample> mine;
  agree(processes_, [&] {
    const auto processes = static_cast<std::uint32_t>(processes_.size());
    for (const ParameterId parameter : parameters) {
      if (!samples_.try_emplace(parameter).second) continue;
      const ArrayId array = files_.placement.array_of(parameter);
      for (Position card = 0; card < files_.placement.mesh().size(); ++card) {
        if (files_.process_of(card, processes) != static_cast<std::uint32_t>(processes_.rank()) ||
            !files_.placement.holds(card, array) || !files_.reader.dataset(card, array))
          continue;
        const StoredSample sample = files_.reader.sample(card, array);
        if (!sample.is_empty) mine.push_back({parameter, card, sample.digest, !sample.value.empty()});
      }
    }
  });
  for (const auto& theirs : gather_all(mine, processes_))
    for (const CardSample& each : theirs) samples_[each.parameter].push_back(each);
}

std::vector<IndexRule> MissingCounts::found(ParameterId parameter, const std::vector<Axis>& axes) {
  const Placement& placement = files_.placement;
  const std::vector<Pattern> patterns = uncounted(placement, parameter);
  if (patterns.empty()) return {};
  const std::vector<ParameterId> parameters = counted_by(placement, patterns);
  sample(parameters);
  std::vector<IndexRule> rules;
  for (const Axis axis : axes) {
    const auto fits = [&](const Pattern& pattern) {
      return std::none_of(parameters.begin(), parameters.end(), [&](ParameterId each) {
        return pattern.matches(placement.tensors()[each].name) &&
               is_same_along(placement.mesh(), samples_.at(each), axis);
      });
    };
    const auto pattern = std::find_if(patterns.begin(), patterns.end(), fits);
    if (pattern == patterns.end()) return {};
    const auto known = std::find_if(rules.begin(), rules.end(),
                                    [&](const IndexRule& rule) { return rule.in.text() == pattern->text(); });
    IndexRule& rule = known == rules.end() ? rules.emplace_back() : *known;
    rule.in = *pattern;
    rule.axes.push_back(axis);
    rule.numbering = Numbering::local;
  }
  return rules;
}

}  // namespace ckpt
