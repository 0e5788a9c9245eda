#pragma once

#include <functional>

#include "tensor/box.hpp"

namespace ckpt {

/// A box of the logical tensor and its place in one stored array: element `index` of the box is stored at element
/// offset + Σ (index[d] − box.lo[d]) · strides[d]. Everything in a layout is reduced to regions.
struct Region {
  Box box;
  std::uint64_t offset = 0;
  Shape strides;
  bool fill = false;  ///< repeats elements that another region of the same array holds (padding by "edge")
};

/// Returns the part of `region` that lies in `box` (a box inside region.box).
Region restricted(const Region& region, const Box& box);

/// Calls visit(part) for the parts into which a grid of chunks divides a region of a row-major array of this shape: one
/// chunk's part after another. A dimension of the grid stays undivided if no dimension of the box, or more than one,
/// moves along it.
void for_each_chunk_part(const Region& region, const Shape& shape, const Shape& chunk,
                         const std::function<void(const Region& part)>& visit);

}  // namespace ckpt
