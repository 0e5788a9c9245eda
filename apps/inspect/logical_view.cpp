#include "inspect/logical_view.hpp"

#include <algorithm>
#include <map>

#include "layout/names/rule_name.hpp"

namespace ckpt::cli {

namespace {

/// `by_card`: the positions in the order of their cards' ids.
std::vector<StoredShape> stored_shapes(const Placement& placement, ArrayId array,
                                       const std::vector<Position>& by_card) {
  std::vector<StoredShape> shapes;
  for (const Position position : by_card) {
    if (!placement.holds(position, array)) continue;
    const Shape shape = placement.stored_shape(array, position);
    auto found =
        std::find_if(shapes.begin(), shapes.end(), [&](const StoredShape& other) { return other.shape == shape; });
    if (found == shapes.end()) found = shapes.insert(shapes.end(), {shape, {}});
    found->cards.add(placement.mesh().card(position));
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const StoredShape& a, const StoredShape& b) { return a.cards.count() > b.cards.count(); });
  return shapes;
}

std::vector<Box> boxes_on(const Placement& placement, ParameterId parameter, Position position) {
  if (placement.arrays()[placement.array_of(parameter)].verbatim) return {whole(placement.tensors()[parameter].shape)};
  std::vector<Box> boxes;
  placement.for_each_region_of(parameter, position, placement.run_of(parameter, position),
                               [&](ParameterId, const Region& region) {
                                 if (!region.fill) boxes.push_back(region.box);
                               });
  return boxes;
}

/// The deciding rule's patterns as `text_of` formats them; else where the parameter's keys come from.
template <class TextOf>
std::string rule_as(const Placement& placement, ParameterId parameter, const TextOf& text_of) {
  const Sharding& sharding = placement.shardings()[parameter];
  if (sharding.bucket) return "(bucket " + placement.layout().buckets[*sharding.bucket].name + ")";
  if (placement.layout().table_arrays.contains(placement.tensors()[parameter].name)) return "(table)";
  if (!sharding.rule) return "(default)";
  return text_of(placement.layout().parameters[*sharding.rule]);
}

std::string with_all_patterns(const Rule& rule) {
  return patterns_of(rule, rule.names.size());
}

}  // namespace

std::string rule_of(const Placement& placement, ParameterId parameter) {
  return rule_as(placement, parameter, [&](const Rule& rule) {
    const std::string& name = placement.tensors()[parameter].name;
    const auto found = std::find_if(rule.names.begin(), rule.names.end(),
                                    [&](const Pattern& pattern) { return pattern.matches(name); });
    const std::string& text = (found == rule.names.end() ? rule.names.front() : *found).text();
    const std::size_t others = rule.names.size() - 1;
    return others == 0 ? text : text + ", … (" + std::to_string(others) + " more)";
  });
}

std::vector<LogicalParameter> logical_view(const Placement& placement) {
  const std::vector<Position> by_card = placement.mesh().by_card();
  std::vector<LogicalParameter> view;
  for (ParameterId id = 0; id < placement.tensors().size(); ++id) {
    const Tensor& tensor = placement.tensors()[id];
    view.push_back({.id = id,
                    .name = tensor.name,
                    .stored_name = placement.arrays()[placement.array_of(id)].name,
                    .dtype = tensor.dtype.name,
                    .shape = tensor.shape,
                    .bytes = tensor.bytes(),
                    .copies = placement.copies(id),
                    .rule = rule_as(placement, id, with_all_patterns),
                    .stored = stored_shapes(placement, placement.array_of(id), by_card)});
  }
  std::sort(view.begin(), view.end(),
            [](const LogicalParameter& a, const LogicalParameter& b) { return natural_less(a.name, b.name); });
  return view;
}

std::vector<std::uint64_t> card_ids(const Mesh& mesh, const std::vector<Position>& positions) {
  std::vector<std::uint64_t> ids;
  ids.reserve(positions.size());
  for (const Position position : positions) ids.push_back(mesh.card(position));
  return ids;
}

std::vector<CardBoxes> boxes_of(const Placement& placement, ParameterId parameter) {
  std::vector<CardBoxes> result;
  std::map<std::string, std::size_t> index;
  for (Position position = 0; position < placement.mesh().size(); ++position) {
    if (!placement.holds(position, placement.array_of(parameter))) continue;
    CardBoxes entry{{}, boxes_on(placement, parameter, position)};
    std::string key;
    for (const auto& box : entry.boxes) key += to_string(box);
    const auto [found, is_new] = index.emplace(key, result.size());
    if (is_new) result.push_back(std::move(entry));
    result[found->second].positions.push_back(position);
  }
  return result;
}

}  // namespace ckpt::cli
