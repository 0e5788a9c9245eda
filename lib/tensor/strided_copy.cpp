#include "tensor/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace ckpt {

namespace {

using Loop = StridedCopy::Loop;

/// The two innermost loops, with a run length that the compiler knows (Run > 0) or not (Run == 0).
template <std::size_t Run>
void copy_plane(const Loop& outer, const Loop& inner, std::uint64_t run_bytes, const std::byte* source,
                std::byte* target) noexcept {
  const std::size_t bytes = Run != 0 ? Run : static_cast<std::size_t>(run_bytes);
  for (std::uint64_t i = 0; i < outer.count; ++i) {
    const std::byte* from = source + i * outer.source_stride;
    std::byte* to = target + i * outer.target_stride;
    for (std::uint64_t j = 0; j < inner.count; ++j) {
      std::memcpy(to, from, bytes);
      from += inner.source_stride;
      to += inner.target_stride;
    }
  }
}

constexpr std::uint64_t tile_rows = 64;
constexpr std::uint64_t tile_row_bytes = 256;

/// Columns of the source that are fetched ahead: one of them is a few lines, too few for the processor to see the next.
constexpr std::uint64_t columns_ahead = 4;

/// Runs in the order of the source, which the outer loop walks, to rows of a tile.
template <std::size_t Run>
void fill_tile(const Loop outer, const Loop inner, const std::byte* source, std::byte* tile) noexcept {
  const std::uint64_t column_bytes = std::min(tile_rows * Run, outer.count * outer.source_stride);
  for (std::uint64_t j = 0; j < inner.count; ++j) {
    const std::byte* from = source + j * inner.source_stride;
    if (j + columns_ahead < inner.count)
      for (std::uint64_t at = 0; at < column_bytes; at += 64)
        __builtin_prefetch(from + columns_ahead * inner.source_stride + at);
    std::byte* to = tile + j * Run;
    for (std::uint64_t i = 0; i < outer.count; ++i) {
      std::memcpy(to, from, Run);
      from += outer.source_stride;
      to += tile_row_bytes;
    }
  }
}

/// A plane whose inner loop strides through the source while the outer one walks it (a transposition), in tiles that
/// are read in the source's order and written in the target's: at strides of a power of two, the lines of either would
/// drive one another out of the cache.
template <std::size_t Run>
void copy_tiled(const Loop& outer, const Loop& inner, const std::byte* source, std::byte* target) noexcept {
  constexpr std::uint64_t columns = tile_row_bytes / Run;
  alignas(64) std::array<std::byte, tile_rows * tile_row_bytes> tile;
  Loop down = outer;
  Loop across = inner;
  for (std::uint64_t i = 0; i < outer.count; i += tile_rows) {
    down.count = std::min(tile_rows, outer.count - i);
    for (std::uint64_t j = 0; j < inner.count; j += columns) {
      across.count = std::min(columns, inner.count - j);
      const std::byte* const from = source + i * outer.source_stride + j * inner.source_stride;
      std::byte* const to = target + i * outer.target_stride + j * inner.target_stride;
      fill_tile<Run>(down, across, from, tile.data());
      if (inner.target_stride == Run)
        copy_plane<0>({1, 0, 0, 0}, {down.count, tile_row_bytes, outer.target_stride, 0}, across.count * Run,
                      tile.data(), to);
      else
        copy_plane<Run>({down.count, tile_row_bytes, outer.target_stride, 0},
                        {across.count, Run, inner.target_stride, 0}, Run, tile.data(), to);
    }
  }
}

template <std::size_t Run>
void copy_either(const Loop& outer, const Loop& inner, std::uint64_t run_bytes, const std::byte* source,
                 std::byte* target) noexcept {
  if constexpr (Run != 0) {
    if (inner.source_stride > outer.source_stride && outer.count > 1 && inner.count > 1)
      return copy_tiled<Run>(outer, inner, source, target);
  }
  copy_plane<Run>(outer, inner, run_bytes, source, target);
}

void copy_plane(const Loop& outer, const Loop& inner, std::uint64_t run_bytes, const std::byte* source,
                std::byte* target) noexcept {
  switch (run_bytes) {
    case 1:
      return copy_either<1>(outer, inner, run_bytes, source, target);
    case 2:
      return copy_either<2>(outer, inner, run_bytes, source, target);
    case 4:
      return copy_either<4>(outer, inner, run_bytes, source, target);
    case 8:
      return copy_either<8>(outer, inner, run_bytes, source, target);
    case 16:
      return copy_either<16>(outer, inner, run_bytes, source, target);
    case 32:
      return copy_either<32>(outer, inner, run_bytes, source, target);
    case 64:
      return copy_either<64>(outer, inner, run_bytes, source, target);
    default:
      return copy_either<0>(outer, inner, run_bytes, source, target);
  }
}

/// The same copy with fewer loops: what is contiguous on all sides is made one.
StridedCopy merged(StridedCopy copy) {
  const auto begin = copy.loops.begin();
  const auto continues = [](const Loop& loop, std::uint64_t source, std::uint64_t target, std::uint64_t tensor) {
    return loop.source_stride == source && loop.target_stride == target && loop.tensor_stride == tensor;
  };
  // From the inside out: a loop that only continues what is within it, on all sides, is merged into it.
  std::size_t kept = copy.depth;
  for (std::size_t i = copy.depth; i-- > 0;) {
    const Loop loop = copy.loops[i];
    Loop* within = kept < copy.depth ? &copy.loops[kept] : nullptr;
    if (within == nullptr && continues(loop, copy.run, copy.run, copy.run)) {
      copy.run *= loop.count;
    } else if (within != nullptr &&
               continues(loop, within->source_stride * within->count, within->target_stride * within->count,
                         within->tensor_stride * within->count)) {
      within->count *= loop.count;
    } else {
      copy.loops[--kept] = loop;
    }
  }
  std::copy(begin + static_cast<std::ptrdiff_t>(kept), begin + static_cast<std::ptrdiff_t>(copy.depth), begin);
  copy.depth -= kept;
  return copy;
}

}  // namespace

std::uint64_t StridedCopy::bytes() const noexcept {
  std::uint64_t total = run;
  for (std::size_t i = 0; i < depth; ++i) total *= loops[i].count;
  return total;
}

std::uint64_t StridedCopy::source_span() const noexcept {
  std::uint64_t span = run;
  for (std::size_t i = 0; i < depth; ++i) span += (loops[i].count - 1) * loops[i].source_stride;
  return run == 0 ? 0 : span;
}

StridedCopy strided_copy(const Extents& shape, const Extents& source_strides, const Extents& target_strides,
                         std::uint64_t element_size) {
  return strided_copy(shape, source_strides, target_strides, target_strides, element_size);
}

StridedCopy strided_copy(const Extents& shape, const Extents& source_strides, const Extents& target_strides,
                         const Extents& tensor_strides, std::uint64_t element_size) {
  StridedCopy copy;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return StridedCopy{};
    if (shape[i] > 1)
      copy.loops[copy.depth++] = {shape[i], source_strides[i] * element_size, target_strides[i] * element_size,
                                  tensor_strides[i] * element_size};
  }
  const auto begin = copy.loops.begin();
  std::stable_sort(begin, begin + static_cast<std::ptrdiff_t>(copy.depth),
                   [](const Loop& a, const Loop& b) { return a.target_stride > b.target_stride; });
  copy.run = element_size;
  return merged(copy);
}

void run(const StridedCopy& copy, const std::byte* source, std::byte* target) noexcept {
  if (copy.run == 0) return;
  static constexpr Loop once{1, 0, 0, 0};
  const std::size_t planes = copy.depth > 2 ? copy.depth - 2 : 0;  // loops outside the two innermost
  const Loop& inner = copy.depth > 0 ? copy.loops[copy.depth - 1] : once;
  const Loop& outer = copy.depth > 1 ? copy.loops[copy.depth - 2] : once;
  for_each_step({copy.loops.data(), planes}, [&](const CopyStep& step) {
    copy_plane(outer, inner, copy.run, source + step.source, target + step.target);
  });
}

}  // namespace ckpt
