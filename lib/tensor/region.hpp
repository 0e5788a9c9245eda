#pragma once

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

}  // namespace ckpt
