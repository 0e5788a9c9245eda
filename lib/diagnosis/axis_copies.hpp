#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Copies among the pieces of the cards along an axis: a card holds the same as the one whose coordinate has the digit
/// (coordinate / stride) % count set to 0. With stride 1 and the axis's size as count all cards hold the same;
/// otherwise an axis of `count` copies lies within this one, its cards `stride` apart.
struct AxisCopies {
  Axis axis = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 0;

  bool are_all(const Mesh& mesh) const { return count == mesh.shape[axis]; }
  /// The card of which this one is a copy.
  Position original(const Mesh& mesh, Position card) const;

  friend auto operator<=>(const AxisCopies&, const AxisCopies&) = default;
};

/// The possible strides of copies along an axis of `size` cards: the divisors below it, ascending.
std::vector<std::uint64_t> possible_strides(std::uint64_t size);

/// The most copies along an axis among these cards, which ascend; `hold_same` compares two of them. Nothing if there
/// are no copies, or the cards have a gap along the axis.
std::optional<AxisCopies> copies_along(const Mesh& mesh, Axis axis, const std::vector<Position>& cards,
                                       const std::function<bool(Position, Position)>& hold_same);

}  // namespace ckpt
