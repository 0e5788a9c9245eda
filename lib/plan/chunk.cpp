#include "plan/chunk.hpp"

#include <algorithm>

namespace ckpt {

ChunkGrid::ChunkGrid(const Shape& shape, std::uint64_t element_bytes, std::uint64_t chunk_bytes) {
  const std::uint64_t total = numel(shape);
  if (total == 0) return;
  const std::uint64_t most = std::max<std::uint64_t>(chunk_bytes / std::max<std::uint64_t>(element_bytes, 1), 1);
  const Shape strides = row_major_strides(shape);
  std::size_t dim = 0;
  while (dim < shape.size() && strides[dim] > most) ++dim;
  if (dim < shape.size()) {
    slice_ = strides[dim];
    extent_ = shape[dim];
  }
  slices_ = std::clamp<std::uint64_t>(most / slice_, 1, extent_);
  per_outer_ = ceil_div(extent_, slices_);
  count_ = total / (slice_ * extent_) * per_outer_;
}

Interval ChunkGrid::operator[](std::uint64_t i) const noexcept {
  const std::uint64_t outer = i / per_outer_ * extent_;
  const std::uint64_t first = i % per_outer_ * slices_;
  return {(outer + first) * slice_, (outer + std::min(first + slices_, extent_)) * slice_};
}

}  // namespace ckpt
