#include "jobs/types/name_mapping.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/maps/rule_changes.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt {

NameMapping::NameMapping(std::vector<std::unique_ptr<SizedMap>> maps, MapWish wish)
    : maps_(std::move(maps)), wish_(std::move(wish)) {}

/// The map that takes the source's names; null if they are the output's already.
const SizedMap* NameMapping::map_of(const std::vector<std::string>& names) const {
  if (maps_.empty()) return nullptr;
  const SizedMap* best = nullptr;
  std::uint64_t most = 0;
  std::vector<std::string> equal;  // maps that take as many
  for (const auto& each : maps_) {
    const std::array<std::uint64_t, 2> taken = names_taken(each->map, names);
    const MapSide side = each->from ? *each->from : each->to ? other_side(*each->to) : taken[1] > taken[0] ? 1 : 0;
    if (!each->from && each->to && taken[*each->to] > taken[side]) return nullptr;
    if (taken[side] < most || taken[side] == 0) continue;
    if (taken[side] > most) equal.clear();
    most = taken[side];
    best = each.get();
    equal.push_back(each->map.origin);
  }
  if (equal.size() == 1) return best;
  std::vector<std::string> known;
  for (const auto& each : maps_) known.push_back(each->map.origin);
  if (best == nullptr)
    throw Error(Kind::input, "the source's names",
                {join(names, 3) + ": no map has them", "names that a side of " + join(known) + " has",
                 "say which map and side: --names MAP#SIDE"});
  throw Error(Kind::input, "the source's names",
              {"several maps have them: " + join(equal), "one map", "say which: --names MAP"});
}

NameMapping::Choice NameMapping::choose(const MapSource& source) const {
  std::vector<std::string> names;
  names.reserve(source.tensors.size());
  for (const auto& [tensor, number] : source.tensors) names.push_back(tensor.name);
  const SizedMap* const chosen = map_of(names);
  if (chosen == nullptr) return {};
  return {chosen, chosen->from ? *chosen->from
                  : chosen->to ? other_side(*chosen->to)
                               : side_of_names(chosen->map, names).value_or(0)};
}

namespace {

nlohmann::ordered_json as_json(const SizedMap& map) {
  nlohmann::ordered_json json;
  for (const auto& [origin, text] : map.map.texts) json["maps"].push_back(nlohmann::ordered_json::parse(text));
  json["sizes"] = map.sizes.used();
  return json;
}

}  // namespace

MappedTensors NameMapping::convert(const MapSource& source) const {
  if (const auto [chosen, from] = choose(source); chosen != nullptr) {
    MappedTensors mapped = map_tensors(chosen->map, chosen->sizes, from, source, wish_);
    nlohmann::ordered_json by = as_json(*chosen);
    if (!mapped.recomputed.empty()) by["recomputed"] = mapped.recomputed;
    mapped.by = by.dump();
    return mapped;
  }
  MappedTensors same;
  for (const auto& [tensor, number] : source.tensors) {
    same.tensors.push_back(tensor);
    same.origins.push_back({number, nullptr, tensor.name});
  }
  return same;
}

std::vector<NameMapping::Change> NameMapping::changes(const MapSource& source, const std::string& name) const {
  std::vector<Change> changes;
  const auto [chosen, from] = choose(source);
  if (chosen == nullptr) return changes;
  const auto origin_in = [&](const MappedTensors& mapped) {
    const auto found = std::find_if(mapped.tensors.begin(), mapped.tensors.end(),
                                    [&](const Tensor& tensor) { return tensor.name == name; });
    return found == mapped.tensors.end()
               ? std::nullopt
               : std::optional(std::pair(mapped.origins[static_cast<std::size_t>(found - mapped.tensors.begin())],
                                         Shape(found->shape)));
  };
  const auto known = origin_in(map_tensors(chosen->map, chosen->sizes, from, source, wish_));
  if (!known) return changes;
  const std::size_t rule = known->first.rule;
  NameMap changed = chosen->map;
  for (RuleChange& change : one_word_changes(chosen->map, rule)) {
    changed.rules[rule] = std::move(change.rule);
    try {
      if (const auto made = origin_in(map_tensors(changed, chosen->sizes, from, source, wish_));
          made && made->second == known->second)
        changes.push_back({changed.rules[rule].place + " with \"" + change.text + "\"", made->first});
    } catch (const Error&) {
      continue;  // its shapes do not fit
    }
  }
  return changes;
}

void NameMapping::check_sizes(const ModelConfig& recorded) const {
  for (const auto& each : maps_) each->sizes.check_against(recorded);
}

bool NameMapping::is_no_weight(const std::string& name) const {
  return std::any_of(maps_.begin(), maps_.end(), [&](const auto& each) {
    for (const MapSide side : {0, 1})
      if (!each->to || *each->to == side)
        for (const Pattern& pattern : each->map.drop[side])
          if (pattern.matches(name)) return true;
    return false;
  });
}

std::string NameMapping::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& each : maps_) all.push_back(as_json(*each));
  return all.dump();
}

std::vector<std::string> notes_of(const MappedTensors& mapped) {
  std::vector<std::string> notes;
  if (!mapped.passed_over.empty()) notes.push_back("no tensors for: " + join(mapped.passed_over));
  if (!mapped.recomputed.empty())
    notes.push_back("recomputed, not moved: " + join(describe_groups(group_names(mapped.recomputed))));
  if (mapped.states != 0)
    notes.push_back(std::to_string(mapped.states) + " tensors of the optimizer's state are left out");
  if (!mapped.dropped.empty()) notes.push_back("no weights, left out: " + join(mapped.dropped));
  return notes;
}

}  // namespace ckpt
