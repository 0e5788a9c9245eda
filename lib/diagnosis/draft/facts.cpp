#include "diagnosis/draft/facts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ckpt::drafting {

std::vector<Position> holders(const std::vector<Piece>& pieces) {
  std::vector<Position> holders;
  for (Position position = 0; position < pieces.size(); ++position)
    if (pieces[position].array != nullptr) holders.push_back(position);
  return holders;
}

Position first_holder(const std::vector<Piece>& pieces) {
  const auto found = std::find_if(pieces.begin(), pieces.end(), [](const Piece& p) { return p.array != nullptr; });
  return static_cast<Position>(found - pieces.begin());
}

const StoredArray& first_array(const std::vector<Piece>& pieces) {
  return *pieces[first_holder(pieces)].array;
}

Classes classes_of(const std::vector<Piece>& pieces) {
  std::map<std::pair<std::uint64_t, std::vector<std::uint64_t>>, std::uint32_t> known;  // by content and shape
  Classes classes;
  classes.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    if (piece.array == nullptr) {
      classes.push_back(holds_nothing);
      continue;
    }
    std::pair key{piece.content, std::vector<std::uint64_t>(piece.array->shape.begin(), piece.array->shape.end())};
    classes.push_back(known.try_emplace(std::move(key), static_cast<std::uint32_t>(known.size())).first->second);
  }
  return classes;
}

std::optional<NameLocation> location_of(const Mesh& mesh, const Classes& classes) {
  std::vector<std::set<std::uint64_t>> held(mesh.axes.size());
  std::uint64_t count = 0;
  for (Position position = 0; position < classes.size(); ++position) {
    if (classes[position] == holds_nothing) continue;
    ++count;
    for (Axis axis = 0; axis < held.size(); ++axis) held[axis].insert(mesh.coordinate(position, axis));
  }
  NameLocation location;
  std::uint64_t places = 1;
  for (Axis axis = 0; axis < held.size(); ++axis) {
    places *= held[axis].size();
    if (held[axis].size() == mesh.shape[axis]) continue;
    location.at[axis].assign(held[axis].begin(), held[axis].end());
    if (!held[axis].contains(mesh.shape[axis] - 1)) continue;
    auto& beside = location.at_last[axis];
    beside = location.at[axis];
    beside.pop_back();
  }
  if (count == 0 || places != count) return std::nullopt;
  return location;
}

std::vector<Axis> differing_axes(const Mesh& mesh, const Classes& classes) {
  std::vector<Axis> axes;
  for (Axis axis = 0; axis < mesh.axes.size(); ++axis) {
    const std::uint64_t stride = mesh.stride(axis);
    bool differs = false;
    for (Position position = 0; position < classes.size() && !differs; ++position) {
      if (classes[position] == holds_nothing) continue;
      const std::uint64_t coordinate = mesh.coordinate(position, axis);
      // The nearest card before it along the axis that holds anything.
      for (std::uint64_t back = 1; back <= coordinate; ++back) {
        const std::uint32_t other = classes[position - back * stride];
        if (other == holds_nothing) continue;
        differs = other != classes[position];
        break;
      }
    }
    if (differs) axes.push_back(axis);
  }
  return axes;
}

}  // namespace ckpt::drafting
