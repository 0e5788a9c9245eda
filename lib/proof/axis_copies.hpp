#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Copies among what the cards along an axis hold: a card holds the same as the one whose coordinate has the digit
/// (coordinate / stride) % count at 0. With stride 1 and the axis's size as count all cards hold the same; else an axis
/// of `count` copies lies within this one, its cards `stride` apart.
struct AxisCopies {
  Axis axis = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 0;

  bool are_all(const Mesh& mesh) const { return count == mesh.shape[axis]; }
  /// The card that holds what this one does.
  Position original(const Mesh& mesh, Position card) const;

  static auto fields(auto& self) { return std::tie(self.axis, self.stride, self.count); }
  friend auto operator<=>(const AxisCopies&, const AxisCopies&) = default;
};

/// How far apart copies along an axis of so many cards may lie: the divisors below it, ascending.
std::vector<std::uint64_t> possible_strides(std::uint64_t size);

/// The most copies along an axis that these cards, ascending, hold, by what `hold_same` says of two of them. Nothing
/// where there are none, or the cards do not go on along the axis without a gap.
std::optional<AxisCopies> copies_along(const Mesh& mesh, Axis axis, const std::vector<Position>& cards,
                                       const std::function<bool(Position, Position)>& hold_same);

}  // namespace ckpt
