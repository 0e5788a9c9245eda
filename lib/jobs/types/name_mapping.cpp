#include "jobs/types/name_mapping.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

NameMapping::NameMapping(std::vector<std::unique_ptr<SizedMap>> maps, MapWish wish)
    : maps_(std::move(maps)), wish_(std::move(wish)) {}

/// The map that takes the source's names; null if they are the output's already.
const SizedMap* NameMapping::choose(const std::vector<std::string>& names) const {
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

MappedTensors NameMapping::convert(const MapSource& source) const {
  std::vector<std::string> names;
  names.reserve(source.tensors.size());
  for (const auto& [tensor, number] : source.tensors) names.push_back(tensor.name);
  if (const SizedMap* const chosen = choose(names)) {
    const MapSide from = chosen->from ? *chosen->from
                         : chosen->to ? other_side(*chosen->to)
                                      : side_of_names(chosen->map, names).value_or(0);
    return map_tensors(chosen->map, chosen->sizes, from, source, wish_);
  }
  MappedTensors same;
  for (const auto& [tensor, number] : source.tensors) {
    same.tensors.push_back(tensor);
    same.origins.push_back({number, nullptr, tensor.name});
  }
  return same;
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
  for (const auto& each : maps_) {
    nlohmann::ordered_json json;
    for (const auto& [origin, text] : each->map.texts) json["maps"].push_back(nlohmann::ordered_json::parse(text));
    json["sizes"] = each->sizes.used();
    all.push_back(std::move(json));
  }
  return all.dump();
}

std::vector<std::string> notes_of(const MappedTensors& mapped) {
  std::vector<std::string> notes;
  if (!mapped.passed_over.empty()) notes.push_back("no tensors for: " + join(mapped.passed_over));
  if (mapped.states != 0)
    notes.push_back(std::to_string(mapped.states) + " tensors of the optimizer's state are left out");
  if (!mapped.dropped.empty()) notes.push_back("no weights, left out: " + join(mapped.dropped));
  return notes;
}

}  // namespace ckpt
