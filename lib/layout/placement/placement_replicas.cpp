// Placement's functions about copies: which cards hold the same elements. Explicit boxes may differ in their number of
// holders: the n-th holders together are the n-th copy, complete or not.
#include <algorithm>
#include <numeric>

#include "layout/placement/placement.hpp"

namespace ckpt {

std::vector<std::uint64_t> Placement::allowed(ArrayId array, Axis axis) const {
  const auto found = arrays_[array].at.find(axis);
  if (found != arrays_[array].at.end()) return found->second;
  std::vector<std::uint64_t> all(mesh().shape[axis]);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

std::vector<std::pair<Axis, std::vector<std::uint64_t>>> Placement::free_axes(ParameterId parameter) const {
  std::vector<bool> used(mesh().axes.size(), false);
  for (const auto& axes : shardings_[parameter].axes)
    for (const Axis axis : axes) used[axis] = true;
  if (const auto axis = flat_axis(parameter)) used[*axis] = true;
  std::vector<std::pair<Axis, std::vector<std::uint64_t>>> free;
  for (Axis axis = 0; axis < used.size(); ++axis)
    if (!used[axis]) free.emplace_back(axis, allowed(array_of_[parameter], axis));
  return free;
}

std::vector<Position> Placement::replica_bases(ParameterId parameter) const {
  if (const auto& boxes = shardings_[parameter].boxes) return boxes->holders(boxes->most_held());
  std::vector<Position> bases{base_[parameter]};
  for (const auto& [axis, coordinates] : free_axes(parameter)) {
    std::vector<Position> more;
    more.reserve(bases.size() * coordinates.size());
    for (const Position base : bases)
      for (const std::uint64_t coordinate : coordinates)
        more.push_back(base + (coordinate - coordinates.front()) * mesh().stride(axis));
    bases = std::move(more);
  }
  std::sort(bases.begin(), bases.end());
  return bases;
}

std::uint64_t Placement::copies(ParameterId parameter) const {
  if (const auto& boxes = shardings_[parameter].boxes) return boxes->holders(boxes->most_held()).size();
  std::vector<bool> is_free(mesh().axes.size(), true);
  for (const auto& axes : shardings_[parameter].axes)
    for (const Axis axis : axes) is_free[axis] = false;
  if (const auto axis = flat_axis(parameter)) is_free[*axis] = false;
  const At& at = arrays_[array_of_[parameter]].at;
  std::uint64_t count = 1;
  for (Axis axis = 0; axis < is_free.size(); ++axis) {
    const auto limited = at.find(axis);
    if (is_free[axis]) count *= limited == at.end() ? mesh().shape[axis] : limited->second.size();
  }
  return count;
}

std::vector<Position> Placement::holders(ParameterId parameter, Position first) const {
  if (const auto& boxes = shardings_[parameter].boxes) return boxes->holders(boxes->held(first)->box);
  std::vector<Position> positions = replica_bases(parameter);
  for (Position& position : positions) position += first - base_[parameter];
  if (shardings_[parameter].bucket) {
    // If other members are cut unevenly, this one may have another place in its other holders' buckets.
    const BucketPlace& bucket = buckets_[*shardings_[parameter].bucket];
    const auto lies_alike = [&](Position position) {
      const auto& a = offsets(bucket, first);
      const auto& b = offsets(bucket, position);
      const std::uint32_t member = shardings_[parameter].member;
      return a.each == b.each && a.bases[member] == b.bases[member];
    };
    std::erase_if(positions, [&](Position position) { return !lies_alike(position); });
  }
  return positions;
}

Position Placement::base_of(ParameterId parameter, Position position) const {
  const Sharding& sharding = shardings_[parameter];
  if (sharding.boxes) return sharding.boxes->holders(sharding.boxes->most_held())[sharding.boxes->held(position)->copy];
  const auto is_used = [&](Axis axis) {
    return flat_axis(parameter) == axis ||
           std::any_of(sharding.axes.begin(), sharding.axes.end(),
                       [&](const auto& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
  };
  Position base = base_[parameter];
  for (Axis axis = 0; axis < mesh().axes.size(); ++axis)
    if (!is_used(axis))
      base += (mesh().coordinate(position, axis) - mesh().coordinate(base_[parameter], axis)) * mesh().stride(axis);
  return base;
}

void Placement::for_each_first(ParameterId parameter, const std::function<void(Position)>& visit) const {
  const Sharding& sharding = shardings_[parameter];
  if (sharding.boxes) {
    for (std::size_t number = 0; number < sharding.boxes->size(); ++number)
      visit(sharding.boxes->holders(number).front());
    return;
  }
  std::vector<Axis> axes;
  for (const auto& of_dim : sharding.axes) axes.insert(axes.end(), of_dim.begin(), of_dim.end());
  if (const auto axis = flat_axis(parameter)) axes.push_back(*axis);
  const auto descend = [&](const auto& self, std::size_t i, Position position) -> void {
    if (i == axes.size()) return visit(position);
    for (std::uint64_t c = 0; c < mesh().shape[axes[i]]; ++c) self(self, i + 1, position + c * mesh().stride(axes[i]));
  };
  descend(descend, 0, base_[parameter]);
}

}  // namespace ckpt
