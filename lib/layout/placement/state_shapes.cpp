#include "layout/placement/state_shapes.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "layout/names/affix.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt {

namespace {

bool are_stored_alike(const Placement& placement, ParameterId a, ParameterId b) {
  const auto stored = [&](ParameterId parameter) {
    return placement.stored_shape(placement.array_of(parameter), placement.first_base(parameter));
  };
  const auto is_plain = [&](ParameterId parameter) {
    return !placement.shardings()[parameter].bucket && !placement.shardings()[parameter].flat;
  };
  return is_plain(a) && is_plain(b) && stored(a) == stored(b);
}

bool is_suspect_state(const Placement& placement, ParameterId state, ParameterId parameter) {
  const Tensor& a = placement.tensors()[state];
  const Tensor& b = placement.tensors()[parameter];
  if (a.verbatim || b.verbatim || a.shape == b.shape || a.shape.size() != b.shape.size()) return false;
  return numel(a.shape) == numel(b.shape) || are_stored_alike(placement, state, parameter);
}

/// Suspect state, with its parameter.
using Pairs = std::vector<std::pair<ParameterId, ParameterId>>;

Pairs suspects(const Placement& placement, const Affix& affix, const NameGroup& group,
               const std::function<bool(ParameterId)>& is_allowed) {
  Pairs found;
  for (const std::string& name : group.names) {
    const auto state = placement.find(name);
    const auto own = affix.without(name);
    const auto parameter = own ? placement.find(*own) : std::nullopt;
    if (parameter && !is_allowed(*state) && is_suspect_state(placement, *state, *parameter))
      found.emplace_back(*state, *parameter);
  }
  return found;
}

std::string describe(const Placement& placement, const NameGroup& group, const Pairs& found) {
  const auto shown = [&](ParameterId parameter) {
    const Tensor& tensor = placement.tensors()[parameter];
    return "'" + tensor.name + "' has the logical shape " + to_string(tensor.shape);
  };
  const std::string more =
      found.size() == 1 ? "" : " (and so for " + std::to_string(found.size() - 1) + " more of " + group.pattern + ")";
  return placement.layout().origin + ": " + shown(found.front().first) + ", and " + shown(found.front().second) + more +
         ": is one of the two rules wrong?";
}

/// Returns the kinds of state, by the affix that identifies them.
std::map<Affix, std::vector<NameGroup>> states_of(const std::set<std::string>& names) {
  std::map<Affix, std::vector<NameGroup>> states;
  std::map<Affix, std::size_t> counts;
  const auto is_name = [&](const std::string& name) { return names.contains(name); };
  std::size_t others = names.size();
  for (NameGroup& group : group_names({names.begin(), names.end()}))
    if (auto affix = affix_of(group.names.front(), is_name)) {
      others -= group.names.size();
      counts[*affix] += group.names.size();
      states[*std::move(affix)].push_back(std::move(group));
    }
  std::erase_if(states, [&](const auto& state) { return 2 * counts[state.first] < others; });
  return states;
}

}  // namespace

std::set<std::string> names_of(const Placement& placement) {
  std::set<std::string> names;
  for (const Tensor& tensor : placement.tensors()) names.insert(tensor.name);
  return names;
}

std::vector<std::string> state_shape_warnings(const Placement& placement,
                                              const std::function<bool(ParameterId)>& is_allowed) {
  constexpr std::size_t most = 8;
  std::vector<std::string> warnings;
  for (const auto& [affix, groups] : states_of(names_of(placement)))
    for (const NameGroup& group : groups)
      if (const Pairs found = suspects(placement, affix, group, is_allowed); !found.empty())
        warnings.push_back(describe(placement, group, found));
  if (warnings.size() <= most) return warnings;
  const std::size_t left_out = warnings.size() - most;
  warnings.resize(most);
  warnings.push_back(placement.layout().origin + ": " + std::to_string(left_out) +
                     " more kinds of state have other logical shapes than their parameters");
  return warnings;
}

std::vector<std::string> state_patterns(const std::set<std::string>& names) {
  std::vector<std::string> patterns;
  for (const auto& [affix, groups] : states_of(names))
    patterns.push_back(literal(affix.before) + "*" + literal(affix.behind));
  return patterns;
}

}  // namespace ckpt
