#include "inspect/holders.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "inspect/logical_view.hpp"

namespace ckpt::cli {

namespace {

void append(std::string& text, const std::string& word, const char* between) {
  text += (text.empty() ? "" : between) + word;
}

std::vector<std::uint64_t> allowed_on(const Mesh& mesh, const At& at, Axis axis) {
  if (const auto limited = at.find(axis); limited != at.end()) return limited->second;
  std::vector<std::uint64_t> all(mesh.shape[axis]);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

/// Sets a shard's coordinates on the axes where its cards have only some of the allowed ones.
void find_coordinates(Shard& shard, const Mesh& mesh, const At& at, const std::vector<Position>& positions) {
  std::uint64_t combinations = 1;
  for (Axis axis = 0; axis < mesh.axes.size(); ++axis) {
    std::set<std::uint64_t> found;
    for (const Position position : positions) found.insert(mesh.coordinate(position, axis));
    combinations *= found.size();
    const std::vector<std::uint64_t> coordinates(found.begin(), found.end());
    if (coordinates != allowed_on(mesh, at, axis))
      append(shard.label, mesh.axes[axis] + "=" + CardIds(coordinates).text(), " ");
  }
  shard.has_coordinates = combinations == positions.size();
  if (!shard.has_coordinates) shard.label.clear();
}

}  // namespace

std::string over_axes(const Mesh& mesh, const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis axis : axes)
    if (mesh.shape[axis] > 1) append(text, mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]), ", ");
  return text.empty() ? text : "over " + text;
}

std::string coordinates_text(const Mesh& mesh, const std::vector<Axis>& axes, Position position) {
  std::string text;
  for (const Axis axis : axes)
    if (mesh.shape[axis] > 1)
      append(text, mesh.axes[axis] + "=" + std::to_string(mesh.coordinate(position, axis)), " ");
  return text;
}

std::string home_of(const Placement& placement, ArrayId array) {
  const Mesh& mesh = placement.mesh();
  std::string text;
  for (const auto& [axis, coordinates] : placement.arrays()[array].at)
    if (coordinates.size() < mesh.shape[axis]) append(text, mesh.axes[axis] + "=" + CardIds(coordinates).text(), " ");
  return text;
}

Shard shard_of(const Placement& placement, ArrayId array, const std::vector<Position>& positions) {
  const Mesh& mesh = placement.mesh();
  Shard shard;
  shard.cards = CardIds(card_ids(mesh, positions));
  find_coordinates(shard, mesh, placement.arrays()[array].at, positions);
  return shard;
}

}  // namespace ckpt::cli
