#pragma once

#include <optional>

#include "tensor/region.hpp"

namespace ckpt {

/// A region of an array whose elements lie at `strides` instead of in row-major order: the same elements, by their
/// places there. Nothing where that is no region: where a dimension of the box runs from one dimension of the array
/// into the next.
std::optional<Region> restrided(const Region& region, const Extents& shape, const Extents& strides);

}  // namespace ckpt
