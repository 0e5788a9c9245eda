#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "inspect/holders.hpp"
#include "inspect/panel.hpp"
#include "report/render.hpp"

namespace ckpt::cli {

namespace {

std::vector<Axis> axes_of_members(const Placement& placement, const ArrayPlace& array) {
  std::set<Axis> axes;
  for (const ParameterId member : array.members)
    for (const auto& of_dim : placement.shardings()[member].axes) axes.insert(of_dim.begin(), of_dim.end());
  return {axes.begin(), axes.end()};
}

/// The members of which a card holds something: "w2 … b1 (2 members)".
std::string members_on(const Placement& placement, const ArrayPlace& array, Position position) {
  std::vector<InternedText> names;
  for (const ParameterId member : array.members)
    if (!placement.run_of(member, position).empty()) names.push_back(placement.tensors()[member].name);
  if (names.empty()) return "padding only";
  if (names.size() == 1) return names.front();
  return names.front() + (names.size() == 2 ? ", " : " … ") + names.back() +
         (names.size() == 2 ? "" : " (" + counted(names.size(), "member") + ")");
}

}  // namespace

Panel bucket_panel(const Placement& placement, ArrayId array) {
  const Mesh& mesh = placement.mesh();
  const ArrayPlace& bucket = placement.arrays()[array];
  const Axis axis = placement.layout().buckets[*placement.shardings()[bucket.members.front()].bucket].axis;
  const std::vector<Axis> cut = axes_of_members(placement, bucket);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Position>> pieces;  // by row and coordinate
  for (Position position = 0; position < mesh.size(); ++position)
    if (placement.holds(position, array))
      pieces[{mesh.combination_at(cut, position), mesh.coordinate(position, axis)}].push_back(position);
  Panel panel;
  panel.title = "bucket " + bucket.name;
  panel.home = home_of(placement, array);
  panel.notes.push_back(bucket.dtype.name + ", " + counted(bucket.members.size(), "member") + " end to end");
  Slice slice;
  std::set<std::uint64_t> borders{0};
  std::uint64_t at = 0;
  for (const auto& [key, positions] : pieces) {
    const Interval row{key.first, key.first + 1};
    if (panel.rows.marks.empty() || panel.rows.marks.back().interval != row) {
      panel.rows.marks.push_back({row, coordinates_text(mesh, cut, positions.front())});
      at = 0;
    }
    const Interval elements{at, at + numel(placement.stored_shape(array, positions.front()))};
    at = elements.hi;
    borders.insert(at);
    if (!elements.empty()) slice.cells.push_back({row, elements, panel.shards.size()});
    panel.shards.push_back(shard_of(placement, array, positions));
    panel.shards.back().holds = members_on(placement, bucket, positions.front());
  }
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border)
    panel.columns.marks.push_back({{*border, *std::next(border)}, ""});
  panel.slices.push_back(std::move(slice));
  panel.columns.title = "elements as stored";
  if (const std::string over = over_axes(mesh, {axis}); !over.empty()) panel.columns.title += ", " + over;
  if (const std::string rows = over_axes(mesh, cut); !rows.empty()) panel.rows.title = "cut " + rows;
  panel.rows.counts_elements = false;
  return panel;
}

}  // namespace ckpt::cli
