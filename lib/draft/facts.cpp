#include "draft/facts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ckpt::drafting {

bool is_same(const Piece& a, const Piece& b) noexcept {
  if (a.array == nullptr || b.array == nullptr) return a.array == b.array;
  return a.content == b.content && a.array->shape == b.array->shape;
}

std::vector<std::uint32_t> classes_of(const NameFacts& facts) {
  using Key = std::tuple<bool, std::uint64_t, std::vector<std::uint64_t>>;
  std::map<Key, std::uint32_t> known;
  std::vector<std::uint32_t> classes;
  classes.reserve(facts.pieces.size());
  for (const Piece& piece : facts.pieces) {
    Key key{piece.array != nullptr, 0, {}};
    if (piece.array != nullptr) {
      std::get<1>(key) = piece.content;
      std::get<2>(key).assign(piece.array->shape.begin(), piece.array->shape.end());
    }
    classes.push_back(known.try_emplace(std::move(key), static_cast<std::uint32_t>(known.size())).first->second);
  }
  return classes;
}

const StoredArray& first_array(const NameFacts& facts) {
  return *std::find_if(facts.pieces.begin(), facts.pieces.end(), [](const Piece& p) {
            return p.array != nullptr;
          })->array;
}

std::optional<Presence> presence_of(const Mesh& mesh, const std::vector<Piece>& pieces) {
  std::vector<std::set<std::uint64_t>> held(mesh.axes.size());
  std::uint64_t count = 0;
  for (Position position = 0; position < pieces.size(); ++position) {
    if (pieces[position].array == nullptr) continue;
    ++count;
    for (Axis axis = 0; axis < held.size(); ++axis) held[axis].insert(mesh.coordinate(position, axis));
  }
  Presence presence;
  std::uint64_t places = 1;
  for (Axis axis = 0; axis < held.size(); ++axis) {
    places *= held[axis].size();
    if (held[axis].size() == mesh.shape[axis]) continue;
    presence.at[axis].assign(held[axis].begin(), held[axis].end());
    if (!held[axis].contains(mesh.shape[axis] - 1)) continue;
    auto& beside = presence.at_last[axis];
    beside = presence.at[axis];
    beside.pop_back();
  }
  if (count == 0 || places != count) return std::nullopt;
  return presence;
}

std::vector<Axis> differing_axes(const Mesh& mesh, const std::vector<Piece>& pieces) {
  std::vector<Axis> axes;
  for (Axis axis = 0; axis < mesh.axes.size(); ++axis) {
    const std::uint64_t stride = mesh.stride(axis);
    bool differs = false;
    for (Position position = 0; position < pieces.size() && !differs; ++position) {
      const std::uint64_t coordinate = mesh.coordinate(position, axis);
      if (pieces[position].array == nullptr) continue;
      // The nearest one before it along the axis that holds anything.
      for (std::uint64_t back = 1; back <= coordinate; ++back) {
        const Piece& other = pieces[position - back * stride];
        if (other.array == nullptr) continue;
        differs = !is_same(other, pieces[position]);
        break;
      }
    }
    if (differs) axes.push_back(axis);
  }
  return axes;
}

}  // namespace ckpt::drafting
