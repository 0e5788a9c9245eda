#include "tensor/link.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

/// Evenly spaced indices along a dimension.
struct Row {
  std::uint64_t base = 0;
  std::uint64_t step = 1;
  std::uint64_t count = 1;

  std::uint64_t last() const { return base + step * (count - 1); }
};

Row row_along(const Link& link, const LinkSide& side, std::size_t dim) {
  const std::size_t k = axis_along(side, dim);
  return k == no_axis ? Row{side.base[dim]} : Row{side.base[dim], side.steps[k], link.size[k]};
}

/// Returns the indices that are in both.
std::optional<Row> shared(Row a, Row b) {
  if (a.step > b.step) std::swap(a, b);
  const std::uint64_t step = std::gcd(a.step, b.step);
  const std::uint64_t last = std::min(a.last(), b.last());
  std::uint64_t index = b.base + b.step * first_at(std::max(a.base, b.base), b.base, b.step);
  for (std::uint64_t left = a.step / step; left > 0 && index <= last; --left, index += b.step)
    if ((index - a.base) % a.step == 0) {
      if (b.step > (last - index) / (a.step / step)) return Row{index, 1, 1};  // the next one is beyond the last
      const std::uint64_t common = a.step / step * b.step;
      return Row{index, common, (last - index) / common + 1};
    }
  return std::nullopt;
}

/// Moves one side of a link to the part of a row that is shared, along an axis of that side's other tensor.
void move_base(LinkSide& side, const LinkSide& of, std::size_t k, const Row& row, const Row& part) {
  if (k != no_axis) side.base[of.dims[k]] += of.steps[k] * ((part.base - row.base) / row.step);
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

std::optional<Link> joined(const Link& first, const Link& then) {
  Link joined{{}, {first.source.base, {}, {}}, {then.target.base, {}, {}}};
  for (std::size_t d = 0; d < first.target.base.size(); ++d) {
    const Row reached = row_along(first, first.target, d);
    const Row left = row_along(then, then.source, d);
    const auto part = shared(reached, left);
    if (!part) return std::nullopt;
    const std::size_t u = axis_along(first.target, d);
    const std::size_t v = axis_along(then.source, d);
    move_base(joined.source, first.source, u, reached, *part);
    move_base(joined.target, then.target, v, left, *part);
    if (part->count == 1) continue;
    joined.size.push_back(part->count);
    joined.source.dims.push_back(first.source.dims[u]);
    joined.source.steps.push_back(first.source.steps[u] * (part->step / reached.step));
    joined.target.dims.push_back(then.target.dims[v]);
    joined.target.steps.push_back(then.target.steps[v] * (part->step / left.step));
  }
  return joined;
}

}  // namespace ckpt
