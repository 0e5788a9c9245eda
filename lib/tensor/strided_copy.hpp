#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/shape.hpp"

namespace ckpt {

/// A copy of a box between two arrays, in bytes: `loops` nested loops, outermost first, around runs that are contiguous
/// on both sides. `strided_copy` makes it, and merges as many dimensions as it can.
struct StridedCopy {
  struct Loop {
    std::uint64_t count;
    std::uint64_t source_stride;
    std::uint64_t target_stride;
    std::uint64_t tensor_stride;  ///< stride in the whole tensor, if the copy was made with its strides; otherwise the
                                  ///< target's
  };

  std::uint64_t run = 0;  ///< bytes of one run; 0: nothing to copy
  std::size_t depth = 0;
  std::array<Loop, max_rank> loops;

  std::uint64_t bytes() const noexcept;
  /// Returns the distance from the first source byte touched to one past the last.
  std::uint64_t source_span() const noexcept;
};

/// Returns the copy of a box of this shape whose elements lie at the given strides (in elements of `element_size`
/// bytes) on either side. Loops run in the target's order, so that writes are as sequential as possible.
StridedCopy strided_copy(const Shape& shape, const Shape& source_strides, const Shape& target_strides,
                         std::uint64_t element_size);

/// Returns a copy whose runs are also contiguous in the whole tensor, whose strides are given.
StridedCopy strided_copy(const Shape& shape, const Shape& source_strides, const Shape& target_strides,
                         const Shape& tensor_strides, std::uint64_t element_size);

/// Performs the copy. `source` and `target` point to the box's first element; the arrays must not overlap.
void run(const StridedCopy& copy, const std::byte* source, std::byte* target) noexcept;

/// A tile of a transposition, which fits into the first-level cache together with its source.
struct TileShape {
  static constexpr std::uint64_t most_bytes = 16384;
  std::uint64_t rows;       ///< number of rows in the target; in the source they follow one another
  std::uint64_t row_bytes;  ///< of one row

  /// Returns the shape for runs of `run` bytes: several lines of each of the source's pages, as each page costs an
  /// address translation.
  static constexpr TileShape of(std::uint64_t run) noexcept {
    const std::uint64_t rows = std::max<std::uint64_t>(64, 256 / run);
    return {rows, most_bytes / rows};
  }
};

/// Copies the runs of two loops, at most as many as a tile holds, to the rows of a tile: those of the inner loop side
/// by side.
void pack(const StridedCopy::Loop& outer, const StridedCopy::Loop& inner, std::uint64_t run, const std::byte* source,
          std::byte* tile) noexcept;

/// Offsets from the first step of a copy, in bytes.
struct CopyStep {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  std::uint64_t tensor = 0;
};

/// Calls visit(CopyStep) for every step of the loops.
template <class Visit>
void for_each_step(std::span<const StridedCopy::Loop> loops, Visit&& visit) {
  std::array<std::uint64_t, max_rank> index;
  std::fill_n(index.begin(), loops.size(), 0U);
  CopyStep step;
  for (;;) {
    visit(step);
    std::size_t i = loops.size();
    while (i-- > 0) {
      const auto& loop = loops[i];
      step.source += loop.source_stride;
      step.target += loop.target_stride;
      step.tensor += loop.tensor_stride;
      if (++index[i] < loop.count) break;
      step.source -= loop.count * loop.source_stride;
      step.target -= loop.count * loop.target_stride;
      step.tensor -= loop.count * loop.tensor_stride;
      index[i] = 0;
    }
    if (i == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace ckpt
