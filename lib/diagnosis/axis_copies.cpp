#include "diagnosis/axis_copies.hpp"

#include <algorithm>

namespace ckpt {

namespace {

/// All divisors, ascending.
std::vector<std::uint64_t> divisors(std::uint64_t number) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t small = 1; small <= number / small; ++small) {
    if (number % small != 0) continue;
    found.push_back(small);
    if (small != number / small) found.push_back(number / small);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool are_copies(const Mesh& mesh, const AxisCopies& copies, const std::vector<Position>& cards,
                const std::function<bool(Position, Position)>& hold_same) {
  std::uint64_t originals = 0;
  for (const Position card : cards) {
    const Position original = copies.original(mesh, card);
    if (original == card)
      ++originals;
    else if (!std::binary_search(cards.begin(), cards.end(), original) || !hold_same(card, original))
      return false;
  }
  return originals != 0 && originals * copies.count == cards.size();
}

}  // namespace

Position AxisCopies::original(const Mesh& mesh, Position card) const {
  const std::uint64_t digit = mesh.coordinate(card, axis) / stride % count;
  return card - digit * stride * mesh.stride(axis);
}

std::vector<std::uint64_t> possible_strides(std::uint64_t size) {
  std::vector<std::uint64_t> strides = divisors(size);
  strides.pop_back();
  return strides;
}

std::optional<AxisCopies> copies_along(const Mesh& mesh, Axis axis, const std::vector<Position>& cards,
                                       const std::function<bool(Position, Position)>& hold_same) {
  std::optional<AxisCopies> most;
  for (const std::uint64_t stride : possible_strides(mesh.shape[axis]))
    for (const std::uint64_t count : divisors(mesh.shape[axis] / stride)) {
      const AxisCopies copies{axis, stride, count};
      if (count > (most ? most->count : 1) && are_copies(mesh, copies, cards, hold_same)) most = copies;
    }
  return most;
}

}  // namespace ckpt
