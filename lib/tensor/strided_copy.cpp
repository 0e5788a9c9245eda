#include "tensor/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

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

/// Sixteen bytes of elements.
template <std::size_t Run>
struct Vector;
template <>
struct Vector<1> {
  [[gnu::vector_size(16)]] std::uint8_t elements;
};
template <>
struct Vector<2> {
  [[gnu::vector_size(16)]] std::uint16_t elements;
};
template <>
struct Vector<4> {
  [[gnu::vector_size(16)]] std::uint32_t elements;
};
template <>
struct Vector<8> {
  [[gnu::vector_size(16)]] std::uint64_t elements;
};

/// Interleaves the elements of two vectors: their first halves, or their second halves.
template <std::size_t Half, class Elements, std::size_t... I>
[[gnu::always_inline]] inline Elements zipped(Elements a, Elements b, std::index_sequence<I...> /*each*/) noexcept {
  constexpr std::size_t count = sizeof...(I);
  return __builtin_shufflevector(a, b, (I / 2 + Half * count / 2 + I % 2 * count)...);
}

/// Transposes a square with as many rows as a vector has elements: each step zips a row with the one half the square
/// away.
template <std::size_t Run>
[[gnu::always_inline]] inline void transpose_square(const std::byte* source, std::uint64_t source_stride,
                                                    std::byte* target) noexcept {
  constexpr std::size_t count = 16 / Run;
  constexpr std::make_index_sequence<count> each;
  std::array<Vector<Run>, count> rows;
  std::array<Vector<Run>, count> turned;
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&rows[i], source + i * source_stride, 16);
  for (std::size_t turn = 1; turn < count; turn *= 2) {
    for (std::size_t i = 0; i < count / 2; ++i) {
      const Vector<Run>& other = rows[i + count / 2];
      turned[2 * i].elements = zipped<0>(rows[i].elements, other.elements, each);
      turned[2 * i + 1].elements = zipped<1>(rows[i].elements, other.elements, each);
    }
    rows = turned;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(target + i * TileShape::of(Run).row_bytes, &rows[i], 16);
}

/// Columns of the source that are prefetched: a column has only a few lines, too few for the processor to predict the
/// next.
constexpr std::uint64_t columns_ahead = 4;
constexpr std::uint64_t bytes_ahead = 2048;

void fetch(const std::byte* column, std::uint64_t bytes) noexcept {
  for (std::uint64_t at = 0; at < bytes; at += 64) __builtin_prefetch(column + at);
}

/// Copies runs in the order of the source, along which the outer loop runs, to rows of a tile.
template <std::size_t Run>
void fill_columns(const Loop& outer, const Loop& inner, const std::byte* source, std::byte* tile) noexcept {
  constexpr TileShape shape = TileShape::of(Run);
  const std::uint64_t column_bytes = std::min(shape.rows * Run, outer.count * outer.source_stride);
  for (std::uint64_t j = 0; j < inner.count; ++j) {
    const std::byte* from = source + j * inner.source_stride;
    if (j + columns_ahead < inner.count) fetch(from + columns_ahead * inner.source_stride, column_bytes);
    std::byte* to = tile + j * Run;
    for (std::uint64_t i = 0; i < outer.count; ++i) {
      std::memcpy(to, from, Run);
      from += outer.source_stride;
      to += shape.row_bytes;
    }
  }
}

/// Copies elements that are contiguous in the source to rows of a tile, by squares; the remaining ones one by one.
/// First gathers a square's columns: in the source, at strides of a power of two, they would evict one another from the
/// cache before their next elements are needed.
template <std::size_t Run>
void fill_squares(const Loop& outer, const Loop& inner, const std::byte* source, std::byte* tile) noexcept {
  constexpr std::uint64_t count = 16 / Run;
  constexpr TileShape shape = TileShape::of(Run);
  constexpr std::size_t height = shape.rows * Run;
  constexpr std::uint64_t ahead = std::max(count, bytes_ahead / height);
  const std::uint64_t rows = outer.count / count * count;
  const std::uint64_t columns = inner.count / count * count;
  alignas(64) std::array<std::byte, count * height> together;
  for (std::uint64_t j = 0; j < columns; j += count) {
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::byte* const column = source + (j + k) * inner.source_stride;
      if (j + k + ahead < inner.count) fetch(column + ahead * inner.source_stride, rows * Run);
      if (rows == shape.rows)
        std::memcpy(together.data() + k * height, column, height);
      else
        std::memcpy(together.data() + k * height, column, rows * Run);
    }
    for (std::uint64_t i = 0; i < rows; i += count)
      transpose_square<Run>(together.data() + i * Run, height, tile + i * shape.row_bytes + j * Run);
  }
  Loop rest = inner;
  rest.count = inner.count - columns;
  if (rest.count != 0) fill_columns<Run>(outer, rest, source + columns * inner.source_stride, tile + columns * Run);
  Loop below = outer;
  below.count = outer.count - rows;
  rest.count = columns;
  if (below.count != 0)
    fill_columns<Run>(below, rest, source + rows * outer.source_stride, tile + rows * shape.row_bytes);
}

template <std::size_t Run>
void fill_tile(const Loop& outer, const Loop& inner, const std::byte* source, std::byte* tile) noexcept {
  if constexpr (Run <= 8) {
    if (outer.source_stride == Run) return fill_squares<Run>(outer, inner, source, tile);
  }
  fill_columns<Run>(outer, inner, source, tile);
}

/// Copies a plane whose inner loop strides through the source while the outer loop is contiguous there (a
/// transposition), in tiles that are read in the source's order and written in the target's: at strides of a power of
/// two, the lines of either would evict one another from the cache.
template <std::size_t Run>
void copy_tiled(const Loop& outer, const Loop& inner, const std::byte* source, std::byte* target) noexcept {
  constexpr TileShape shape = TileShape::of(Run);
  constexpr std::uint64_t columns = shape.row_bytes / Run;
  alignas(64) std::array<std::byte, shape.rows * shape.row_bytes> tile;
  Loop down = outer;
  Loop across = inner;
  for (std::uint64_t i = 0; i < outer.count; i += shape.rows) {
    down.count = std::min(shape.rows, outer.count - i);
    for (std::uint64_t j = 0; j < inner.count; j += columns) {
      across.count = std::min(columns, inner.count - j);
      const std::byte* const from = source + i * outer.source_stride + j * inner.source_stride;
      std::byte* const to = target + i * outer.target_stride + j * inner.target_stride;
      fill_tile<Run>(down, across, from, tile.data());
      if (inner.target_stride == Run)
        copy_plane<0>({1, 0, 0, 0}, {down.count, shape.row_bytes, outer.target_stride, 0}, across.count * Run,
                      tile.data(), to);
      else
        copy_plane<Run>({down.count, shape.row_bytes, outer.target_stride, 0},
                        {across.count, Run, inner.target_stride, 0}, Run, tile.data(), to);
    }
  }
}

/// Returns whether the inner loop strides through the source while the outer loop moves contiguously.
bool is_transposition(const Loop& outer, const Loop& inner) noexcept {
  return inner.source_stride > outer.source_stride && outer.count > 1 && inner.count > 1;
}

/// Calls copy(integral_constant) with a run length that the compiler knows; 0 for all others.
void with_known(std::uint64_t run_bytes, const auto& copy) noexcept {
  switch (run_bytes) {
    case 1:
      return copy(std::integral_constant<std::size_t, 1>());
    case 2:
      return copy(std::integral_constant<std::size_t, 2>());
    case 4:
      return copy(std::integral_constant<std::size_t, 4>());
    case 8:
      return copy(std::integral_constant<std::size_t, 8>());
    case 16:
      return copy(std::integral_constant<std::size_t, 16>());
    case 32:
      return copy(std::integral_constant<std::size_t, 32>());
    case 64:
      return copy(std::integral_constant<std::size_t, 64>());
    default:
      return copy(std::integral_constant<std::size_t, 0>());
  }
}

void copy_plane(const Loop& outer, const Loop& inner, std::uint64_t run_bytes, const std::byte* source,
                std::byte* target) noexcept {
  with_known(run_bytes, [&](auto known) {
    if constexpr (known != 0) {
      if (is_transposition(outer, inner)) return copy_tiled<known>(outer, inner, source, target);
    }
    copy_plane<known>(outer, inner, run_bytes, source, target);
  });
}

/// Merges loops that are contiguous on all sides.
void merge(StridedCopy& copy) {
  const auto begin = copy.loops.begin();
  const auto continues = [](const Loop& loop, std::uint64_t source, std::uint64_t target, std::uint64_t tensor) {
    return loop.source_stride == source && loop.target_stride == target && loop.tensor_stride == tensor;
  };
  // From the inside out: a loop that only continues the loops within it, on all sides, is merged into them.
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
}

/// Inserts a loop after all loops with an equal or larger stride in the target. This replaces std::stable_sort, which
/// allocates memory, and there are few loops.
void add_by_target(StridedCopy& copy, const Loop& loop) {
  std::size_t at = copy.depth++;
  for (; at > 0 && copy.loops[at - 1].target_stride < loop.target_stride; --at) copy.loops[at] = copy.loops[at - 1];
  copy.loops[at] = loop;
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

StridedCopy strided_copy(const Shape& shape, const Shape& source_strides, const Shape& target_strides,
                         std::uint64_t element_size) {
  return strided_copy(shape, source_strides, target_strides, target_strides, element_size);
}

StridedCopy strided_copy(const Shape& shape, const Shape& source_strides, const Shape& target_strides,
                         const Shape& tensor_strides, std::uint64_t element_size) {
  StridedCopy copy;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return StridedCopy{};
    if (shape[i] > 1)
      add_by_target(copy, {shape[i], source_strides[i] * element_size, target_strides[i] * element_size,
                           tensor_strides[i] * element_size});
  }
  copy.run = element_size;
  merge(copy);
  return copy;
}

void pack(const Loop& outer, const Loop& inner, std::uint64_t run, const std::byte* source, std::byte* tile) noexcept {
  with_known(run, [&](auto known) {
    if constexpr (known != 0) {
      if (is_transposition(outer, inner)) return fill_tile<known>(outer, inner, source, tile);
    }
    const Loop down{outer.count, outer.source_stride, TileShape::of(run).row_bytes, 0};
    copy_plane<known>(down, {inner.count, inner.source_stride, run, 0}, run, source, tile);
  });
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
