#include "tensor/link.hpp"

namespace ckpt {

namespace {

constexpr std::size_t no_axis = max_rank;

std::size_t axis_along(const LinkSide& side, std::size_t dim) {
  for (std::size_t k = 0; k < side.dims.size(); ++k)
    if (side.dims[k] == dim) return k;
  return no_axis;
}

/// Returns the first u whose index, base + step · u, is at least `index`.
std::uint64_t first_at(std::uint64_t index, std::uint64_t base, std::uint64_t step) {
  return index <= base ? 0 : ceil_div(index - base, step);
}

}  // namespace

bool narrow(Box& part, const LinkSide& side, const Box& box) {
  for (std::size_t d = 0; d < box.rank(); ++d) {
    const std::size_t k = axis_along(side, d);
    if (k == no_axis) {
      if (side.base[d] < box.lo[d] || side.base[d] >= box.hi[d]) return false;
      continue;
    }
    const Interval met{first_at(box.lo[d], side.base[d], side.steps[k]),
                       first_at(box.hi[d], side.base[d], side.steps[k])};
    part.set(k, intersect(part[k], met));
    if (part[k].empty()) return false;
  }
  return true;
}

Box hull(const LinkSide& side, const Box& part) {
  Box box{side.base, side.base};
  for (std::size_t d = 0; d < box.rank(); ++d) ++box.hi[d];
  for (std::size_t k = 0; k < side.dims.size(); ++k) {
    const std::size_t d = side.dims[k];
    box.set(d, {side.base[d] + side.steps[k] * part.lo[k], side.base[d] + side.steps[k] * (part.hi[k] - 1) + 1});
  }
  return box;
}

Region restricted(const Region& region, const LinkSide& side, const Box& part) {
  Region taken{part, region.offset, Shape(part.rank()), region.fill};
  for (std::size_t d = 0; d < region.box.rank(); ++d) {
    const std::size_t k = axis_along(side, d);
    std::uint64_t index = side.base[d];
    if (k != no_axis) {
      index += side.steps[k] * part.lo[k];
      taken.strides[k] = side.steps[k] * region.strides[d];
    }
    taken.offset += (index - region.box.lo[d]) * region.strides[d];
  }
  return taken;
}

}  // namespace ckpt
