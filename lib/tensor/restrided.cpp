#include "tensor/restrided.hpp"

namespace ckpt {

std::optional<Region> restrided(const Region& region, const Shape& shape, const Shape& strides) {
  const Shape size = region.box.shape();
  const Shape row_major = row_major_strides(shape);
  Region moved{region.box, 0, Shape(size.size()), region.fill};
  // An offset or stride in row-major order is a number with one digit for each dimension of the array. If no sum of
  // digits reaches its dimension's size, nothing is carried, and the digits can be weighted with the other strides.
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto digit = [&](std::uint64_t elements) { return elements / row_major[k] % shape[k]; };
    const std::uint64_t first = digit(region.offset);
    std::uint64_t last = first;
    for (std::size_t d = 0; d < size.size(); ++d) {
      if (size[d] <= 1) continue;
      const std::uint64_t step = digit(region.strides[d]);
      last += (size[d] - 1) * step;
      moved.strides[d] += step * strides[k];
    }
    if (last >= shape[k]) return std::nullopt;
    moved.offset += first * strides[k];
  }
  return moved;
}

}  // namespace ckpt
