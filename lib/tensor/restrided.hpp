#pragma once

#include <optional>

#include "tensor/region.hpp"

namespace ckpt {

/// Returns the same elements as a region of an array whose elements lie at `strides` instead of in row-major order.
/// Nothing if the result is not a region: if a dimension of the box crosses from one dimension of the array into the
/// next.
std::optional<Region> restrided(const Region& region, const Shape& shape, const Shape& strides);

}  // namespace ckpt
