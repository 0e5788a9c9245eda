#include "jobs/types/name_mapping.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/maps/map_names.hpp"
#include "layout/maps/rule_changes.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/placement/quantised_weights.hpp"

namespace ckpt {

NameMapping::NameMapping(std::vector<std::unique_ptr<SizedMap>> maps, MapWish wish, OriginalText config,
                         std::unique_ptr<const NameMapping> then)
    : maps_(std::move(maps)), wish_(std::move(wish)), config_(std::move(config)), then_(std::move(then)) {}

/// The map that takes the source's names; null if they are the output's already.
const SizedMap* NameMapping::map_of(const std::vector<std::string>& names) const {
  if (maps_.empty()) return nullptr;
  struct Fit {
    const SizedMap* map;
    std::uint64_t taken;
    bool is_sure;  ///< the output's side takes fewer
  };
  std::vector<Fit> fits;
  bool are_made = false;  // by some map these are the output's names
  for (const auto& each : maps_) {
    if (each->from && each->from == each->to) return nullptr;
    const std::array<std::uint64_t, 2> taken = names_taken(each->map, names);
    const MapSide side = each->from ? *each->from : each->to ? other_side(*each->to) : taken[1] > taken[0] ? 1 : 0;
    const bool is_sure = each->from || !each->to || taken[side] > taken[*each->to];
    if (!is_sure && taken[*each->to] > taken[side])
      are_made = true;
    else if (taken[side] != 0)
      fits.push_back({each.get(), taken[side], is_sure});
  }
  if (are_made) {  // unless another map knows more of them, as the same system's names in memory
    std::erase_if(fits, [](const Fit& fit) { return !fit.is_sure; });
    if (fits.empty()) return nullptr;
  }
  std::uint64_t most = 0;
  for (const Fit& fit : fits) most = std::max(most, fit.taken);
  std::erase_if(fits, [&](const Fit& fit) { return fit.taken < most; });
  if (fits.size() == 1) return fits.front().map;
  std::vector<std::string> known;
  for (const auto& each : maps_) known.push_back(each->map.origin);
  if (fits.empty()) {
    const std::string without_prefix = names.empty() ? "" : advice_on_prefix(names, [&](const std::string& name) {
      return std::ranges::any_of(maps_, [&](const auto& each) { return side_of_names(each->map, {name}).has_value(); });
    });
    throw Error(Kind::input, "the source's names",
                {join(names, 3) + ": no map has them", "names that a side of " + join(known) + " has",
                 without_prefix.empty() ? "say which map and side: --names MAP#SIDE" : without_prefix})
        .of_parameter(names.empty() ? "" : names.front());
  }
  std::vector<std::string> equal;
  for (const Fit& fit : fits) equal.push_back(fit.map->map.origin);
  throw Error(Kind::input, "the source's names",
              {"several maps have them: " + join(equal), "one map", "say which: --names MAP"});
}

NameMapping::Choice NameMapping::choose(const MapSource& source) const {
  const std::vector<std::string> names = source.names();
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

std::array<std::string, 2> NameMapping::sides_of(const MapSource& source) const {
  std::array<std::string, 2> sides;
  if (const auto [chosen, from] = choose(source); chosen != nullptr) {
    sides = {chosen->map.sides[from], chosen->map.sides[other_side(from)]};
  } else if (const auto each = std::ranges::find_if(maps_, [](const auto& map) { return map->to.has_value(); });
             each != maps_.end()) {
    sides.fill((*each)->map.sides[*(*each)->to]);
  }
  if (then_) sides[1] = then_->maps_.front()->map.sides[then_->maps_.front()->to.value()];
  return sides;
}

bool NameMapping::has_side(const std::string& name) const {
  return (then_ && then_->has_side(name)) ||
         std::ranges::any_of(maps_, [&](const auto& each) { return each->map.side(name).has_value(); });
}

namespace {

/// What two maps make together: `made` of the tensors of `middle`, by their numbers.
MappedTensors together(const MappedTensors& middle, MappedTensors made) {
  std::vector<TensorLinks::Stop> stops;
  for (const auto& origin : middle.origins) stops.push_back({origin.first, origin.links});
  const auto are_in = [&](const std::vector<std::string>& names, const MappedTensors::Origin& origin) {
    const auto is_in = [&](ParameterId stop) {
      return std::ranges::binary_search(names, middle.tensors[stop].name.str());
    };
    bool is_any = is_in(origin.first);
    if (origin.links) origin.links->for_each_source([&](ParameterId stop) { is_any = is_any || is_in(stop); });
    return is_any;
  };
  for (std::size_t i = 0; i < made.tensors.size(); ++i) {
    MappedTensors::Origin& origin = made.origins[i];
    const MappedTensors::Origin& before = middle.origins[origin.first];
    if (are_in(middle.recomputed, origin)) made.recomputed.push_back(made.tensors[i].name);
    if (are_in(middle.recut_states, origin)) made.recut_states.push_back(made.tensors[i].name);
    if (origin.links)
      origin.links = with_context("'" + made.tensors[i].name.str() + "'",
                                  [&] { return std::make_shared<const TensorLinks>(origin.links, stops); });
    else
      origin.links = before.links;
    origin.first = before.first;
    origin.first_name = before.first_name;
  }
  for (auto& [one, other] : made.equal) {
    if (middle.origins[one].links || middle.origins[other].links)
      throw Error(Kind::input, "'" + middle.tensors[one].name + "'",
                  {"it must be equal to '" + middle.tensors[other].name + "', and a map makes it anew",
                   "tensors that the source has as they are", "apply the maps one after the other, in two jobs"});
    one = middle.origins[one].first;
    other = middle.origins[other].first;
  }
  std::erase_if(made.equal, [](const auto& pair) { return pair.first == pair.second; });
  made.equal.insert(made.equal.end(), middle.equal.begin(), middle.equal.end());
  made.dropped.insert(made.dropped.end(), middle.dropped.begin(), middle.dropped.end());
  made.states += middle.states;
  made.unpadded.insert(made.unpadded.begin(), middle.unpadded.begin(), middle.unpadded.end());
  if (!middle.by.empty()) {
    auto by = nlohmann::ordered_json::parse(middle.by);
    if (!made.by.empty()) by["then"] = nlohmann::ordered_json::parse(made.by);
    made.by = by.dump();
  }
  return made;
}

}  // namespace

/// The source, with the scales that follow their codes: those of 8-bit floats.
MapSource NameMapping::with_scales(const MapSource& source) const {
  MapSource all = source;
  const auto is_code = [](const auto& each) { return is_fp8(each.first.dtype); };
  if (std::ranges::none_of(source.tensors, is_code)) return all;
  std::vector<Tensor> tensors;
  for (const auto& [tensor, number] : source.tensors) tensors.push_back(tensor);
  const auto config =
      config_.first.empty() ? QuantisationConfig() : QuantisationConfig::parse(config_.first, config_.second);
  const auto found = quantised_weights(tensors, config);
  for (const QuantisedWeight& weight : found.weights) {
    if (weight.form != QuantisedWeight::Form::blocks || weight.name != weight.codes || !weight.factor.empty()) continue;
    const bool is_spread = std::ranges::all_of(weight.unit, [](std::uint64_t unit) { return unit == 1; });
    all.scales.emplace(weight.scales, CodeScales{weight.codes, weight.block, is_spread});
  }
  return all;
}

MappedTensors NameMapping::convert(const MapSource& source, const KeepMade& is_kept) const {
  if (!then_) return convert_once(source, is_kept);
  const MappedTensors middle = convert_once(source, {});
  MapSource between{{}, source.are_all};
  for (ParameterId number = 0; number < middle.tensors.size(); ++number)
    between.tensors.emplace_back(middle.tensors[number], number);
  return together(middle, then_->convert(between, is_kept));
}

MappedTensors NameMapping::convert_once(const MapSource& source, const KeepMade& is_kept) const {
  if (const auto [chosen, from] = choose(source); chosen != nullptr) {
    MappedTensors mapped = map_tensors(chosen->map, chosen->sizes, from, with_scales(source), wish_, is_kept);
    nlohmann::ordered_json by = as_json(*chosen);
    if (!mapped.recomputed.empty()) by["recomputed"] = mapped.recomputed;
    mapped.by = by.dump();
    return mapped;
  }
  MappedTensors same;
  for (const auto& [tensor, number] : source.tensors) {
    if (is_kept && !is_kept(tensor.name)) continue;
    same.tensors.push_back(tensor);
    same.origins.push_back({number, nullptr, tensor.name});
  }
  return same;
}

std::vector<NameMapping::Change> NameMapping::changes(const MapSource& source, const std::string& name) const {
  std::vector<Change> changes;
  const auto [chosen, from] = choose(source);
  if (chosen == nullptr || then_) return changes;
  const auto origin_in = [&](const MappedTensors& mapped) {
    const auto found = std::find_if(mapped.tensors.begin(), mapped.tensors.end(),
                                    [&](const Tensor& tensor) { return tensor.name == name; });
    return found == mapped.tensors.end()
               ? std::nullopt
               : std::optional(std::pair(mapped.origins[static_cast<std::size_t>(found - mapped.tensors.begin())],
                                         Shape(found->shape)));
  };
  const MapSource all = with_scales(source);
  const auto known = origin_in(map_tensors(chosen->map, chosen->sizes, from, all, wish_));
  if (!known) return changes;
  const std::size_t rule = known->first.rule;
  NameMap changed = chosen->map;
  for (RuleChange& change : one_word_changes(chosen->map, rule)) {
    changed.rules[rule] = std::move(change.rule);
    try {
      if (const auto made = origin_in(map_tensors(changed, chosen->sizes, from, all, wish_));
          made && made->second == known->second)
        changes.push_back({"write \"" + change.text + "\" at " + changed.rules[rule].place, made->first});
    } catch (const Error&) {
      continue;  // its shapes do not fit
    }
  }
  return changes;
}

bool NameMapping::makes(const std::vector<std::string>& names) const {
  if (then_) return then_->makes(names);
  return std::ranges::any_of(maps_,
                             [&](const auto& each) { return each->to && side_of_names(each->map, names) == each->to; });
}

void NameMapping::check_sizes(const ModelConfig& recorded) const {
  for (const auto& each : maps_) each->sizes.check_against(recorded);
  if (then_) then_->check_sizes(recorded);
}

bool NameMapping::is_no_weight(const std::string& name) const {
  if (then_) return then_->is_no_weight(name);
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
  if (then_) all.push_back(nlohmann::ordered_json::parse(then_->json()));
  return all.dump();
}

std::vector<std::string> notes_of(const MappedTensors& mapped) {
  std::vector<std::string> notes;
  if (!mapped.passed_over.empty()) notes.push_back("no tensors for: " + join(mapped.passed_over));
  if (!mapped.recomputed.empty())
    notes.push_back("recomputed, not moved: " + join(describe_groups(group_names(mapped.recomputed))));
  if (!mapped.unpadded.empty()) notes.push_back("padding, left out: " + join(mapped.unpadded));
  if (mapped.states != 0)
    notes.push_back(std::to_string(mapped.states) + " tensors of the optimizer's state are left out");
  if (!mapped.dropped.empty()) notes.push_back("no weights, left out: " + join(mapped.dropped));
  return notes;
}

}  // namespace ckpt
