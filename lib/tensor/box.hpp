#pragma once

#include <optional>
#include <string>

#include "tensor/shape.hpp"

namespace ckpt {

/// A half-open interval [lo, hi) of indices.
struct Interval {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;

  std::uint64_t size() const noexcept { return hi - lo; }
  bool empty() const noexcept { return hi <= lo; }
  bool is_consistent() const noexcept { return lo <= hi; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

constexpr Interval intersect(Interval a, Interval b) noexcept {
  const std::uint64_t lo = std::max(a.lo, b.lo);
  return {lo, std::max(lo, std::min(a.hi, b.hi))};
}

/// A box of a tensor: [lo, hi) in each dimension. For rank 0 it is one element.
struct Box {
  Shape lo;
  Shape hi;

  std::size_t rank() const noexcept { return lo.size(); }
  Interval operator[](std::size_t i) const noexcept { return {lo[i], hi[i]}; }
  void set(std::size_t i, Interval interval) noexcept {
    lo[i] = interval.lo;
    hi[i] = interval.hi;
  }
  bool empty() const noexcept;
  bool is_consistent() const noexcept { return lo.size() == hi.size(); }
  Shape shape() const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Returns the box of a whole tensor of this shape.
Box whole(const Shape& shape);

/// Returns the intersection of two boxes of the same rank, or nothing if it is empty.
std::optional<Box> intersect(const Box& a, const Box& b);

/// Returns whether every element of `inner` lies in `outer`.
bool contains(const Box& outer, const Box& inner);

/// Returns "[0:512, 0:4096]".
std::string to_string(const Box& box);

/// Divides the flat (row-major) range of a tensor of this shape into at most 2·rank − 1 boxes, in row-major order, and
/// calls `visit(box)` for each.
template <class Visit>
void for_each_box(const Shape& shape, Interval flat, Visit&& visit);

/// Returns the largest leading part of `flat` that is a box of a tensor of this shape: single indices in the leading
/// dimensions, one run in a middle one, all indices of the trailing ones.
Box leading_box(const Shape& shape, const Shape& strides, Interval flat);

template <class Visit>
void for_each_box(const Shape& shape, Interval flat, Visit&& visit) {
  const Shape strides = row_major_strides(shape);
  while (!flat.empty()) {
    const Box box = leading_box(shape, strides, flat);
    flat.lo += numel(box.shape());
    visit(box);
  }
}

}  // namespace ckpt
