#pragma once

#include <cstdint>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// The unit of work: a run of elements of one stored target array.
struct Chunk {
  Position card = 0;
  ArrayId array = 0;
  Interval elements;        ///< of the stored array
  std::uint64_t bytes = 0;  ///< of `elements` as they are written, or, if they are cast, as cells (ChunkCasts)
};

/// Divides an array into chunks that are boxes of it, of at most about `chunk_bytes`: runs of whole slices of the
/// outermost dimension whose slices fit, so that even a tensor of one enormous row is divided.
class ChunkGrid {
 public:
  ChunkGrid(const Shape& shape, std::uint64_t element_bytes, std::uint64_t chunk_bytes);

  std::uint64_t count() const noexcept { return count_; }
  Interval operator[](std::uint64_t i) const noexcept;

 private:
  std::uint64_t slice_ = 1;      // elements of one slice
  std::uint64_t extent_ = 1;     // number of slices of the dimension that is divided
  std::uint64_t slices_ = 1;     // slices of one chunk
  std::uint64_t per_outer_ = 1;  // chunks for each index of the outer dimensions
  std::uint64_t count_ = 0;
};

}  // namespace ckpt
