#include "tensor/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tensor/mix.hpp"
#include "tensor/sum_rows.hpp"

namespace ckpt {

namespace {

/// Seeds: the digits of π and of e.
constexpr std::array<std::uint64_t, 2> text_seeds{0xa4093822299f31d0, 0x62e7160f38b4da56};

/// Below this, copying in one order and summing in another is faster.
constexpr std::uint64_t least_fused_run = 32;

/// Sums the bytes that a copy reads, by their place in their tensor: the first is at `offset`. Copies nothing if
/// `target` is null.
PartialSum sum_copy(const StridedCopy& copy, const std::byte* source, std::byte* target, std::uint64_t offset,
                    KeySets sets) {
  static const RowSummer summer = row_summers().front();
  if (copy.run == 0) return {};
  PartialSum sum;
  static constexpr StridedCopy::Loop once{1, 0, 0, 0};
  const StridedCopy::Loop& inner = copy.depth > 0 ? copy.loops[copy.depth - 1] : once;
  for_each_step({copy.loops.data(), copy.depth > 0 ? copy.depth - 1 : 0}, [&](const CopyStep& step) {
    summer(sets, {inner, copy.run}, source + step.source, target != nullptr ? target + step.target : nullptr,
           offset + step.tensor, sum);
  });
  return sum;
}

/// The longest gap between runs in the tensor, in runs.
constexpr std::uint64_t widest_spread = 8;

/// Returns whether the short runs of a copy follow one another in the tensor, perhaps with gaps.
bool can_be_packed(const StridedCopy& copy) {
  if (copy.depth == 0 || copy.run >= least_fused_run) return false;
  const StridedCopy::Loop& inner = copy.loops[copy.depth - 1];
  return inner.tensor_stride >= copy.run && inner.tensor_stride <= widest_spread * copy.run;
}

/// Sums, like sum_copy, runs that can be packed: packs them, a tile at a time, since summing many short runs takes
/// longer. Gaps are zeros in a second tile, which add nothing.
PartialSum sum_packed(const StridedCopy& copy, const std::byte* source, std::byte* target, std::uint64_t offset,
                      KeySets sets) {
  static const RowSummer summer = row_summers().front();
  static constexpr StridedCopy::Loop once{1, 0, 0, 0};
  const TileShape shape = TileShape::of(copy.run);
  const StridedCopy::Loop& inner = copy.loops[copy.depth - 1];
  const StridedCopy::Loop& outer = copy.depth > 1 ? copy.loops[copy.depth - 2] : once;
  const std::uint64_t columns = shape.row_bytes / inner.tensor_stride;
  const bool is_spread = inner.tensor_stride != copy.run;
  const bool is_written_apart = target != nullptr && (is_spread || inner.target_stride != copy.run);
  alignas(64) std::array<std::byte, TileShape::most_bytes> tile;
  alignas(64) std::array<std::byte, TileShape::most_bytes> spread;
  if (is_spread) spread.fill(std::byte{0});
  StridedCopy::Loop down = outer;
  StridedCopy::Loop across = inner;
  PartialSum sum;
  for_each_step({copy.loops.data(), copy.depth > 1 ? copy.depth - 2 : 0}, [&](const CopyStep& step) {
    for (std::uint64_t i = 0; i < outer.count; i += shape.rows)
      for (std::uint64_t j = 0; j < inner.count; j += columns) {
        down.count = std::min(shape.rows, outer.count - i);
        across.count = std::min(columns, inner.count - j);
        pack(down, across, copy.run, source + step.source + i * outer.source_stride + j * inner.source_stride,
             tile.data());
        std::byte* const to =
            target == nullptr ? nullptr : target + step.target + i * outer.target_stride + j * inner.target_stride;
        const auto copy_tile = [&](std::byte* out, std::uint64_t row_stride, std::uint64_t stride) {
          run({copy.run, 2, {{{down.count, shape.row_bytes, row_stride, 0}, {across.count, copy.run, stride, 0}}}},
              tile.data(), out);
        };
        if (is_written_apart) copy_tile(to, outer.target_stride, inner.target_stride);
        if (is_spread) copy_tile(spread.data(), shape.row_bytes, inner.tensor_stride);
        const std::uint64_t gaps = (across.count - 1) * (inner.tensor_stride - copy.run);
        const Rows rows{{down.count, shape.row_bytes, outer.target_stride, outer.tensor_stride},
                        across.count * copy.run + gaps};
        summer(sets, rows, is_spread ? spread.data() : tile.data(), is_written_apart ? nullptr : to,
               offset + step.tensor + i * outer.tensor_stride + j * inner.tensor_stride, sum);
        sum.bytes -= down.count * gaps;
      }
  });
  return sum;
}

std::uint64_t first_of(const Region& region, const Shape& tensor_strides, std::uint64_t first) {
  for (std::size_t d = 0; d < region.box.rank(); ++d) first += region.box.lo[d] * tensor_strides[d];
  return first;
}

/// Returns the 64-bit FNV-1a hash (Fowler, Noll and Vo) of a text.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

PartialSum sum_of(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  StridedCopy whole;
  whole.run = bytes.size();
  return sum_copy(whole, bytes.data(), nullptr, offset, KeySets::both);
}

PartialSum sum_of(const Shape& shape, std::uint64_t element, const std::byte* data, const Shape& strides,
                  std::uint64_t first, const Shape& tensor_strides, KeySets sets) {
  const StridedCopy copy = strided_copy(shape, strides, tensor_strides, element);
  if (can_be_packed(copy)) return sum_packed(copy, data, nullptr, first * element, sets);
  return sum_copy(copy, data, nullptr, first * element, sets);
}

PartialSum sum_of(const Region& region, std::uint64_t element, const std::byte* data, const Shape& tensor_strides,
                  KeySets sets, std::uint64_t first) {
  return sum_of(region.box.shape(), element, data, region.strides, first_of(region, tensor_strides, first),
                tensor_strides, sets);
}

PartialSum copy_and_sum(const Region& region, std::uint64_t element, const std::byte* source, std::byte* target,
                        const Shape& target_strides, const Shape& tensor_strides, KeySets sets, std::uint64_t first) {
  const Shape shape = region.box.shape();
  const StridedCopy fused = strided_copy(shape, region.strides, target_strides, tensor_strides, element);
  const std::uint64_t offset = first_of(region, tensor_strides, first) * element;
  if (fused.run >= least_fused_run) return sum_copy(fused, source, target, offset, sets);
  if (can_be_packed(fused)) return sum_packed(fused, source, target, offset, sets);
  run(strided_copy(shape, region.strides, target_strides, element), source, target);
  return sum_of(region, element, source, tensor_strides, sets, first);
}

NameKey::NameKey(const std::string& text) noexcept
    : low_(mix(text_seeds[0] + hash_of(text)) | 1U), high_(mix(text_seeds[1] + hash_of(text)) | 1U) {}

Fingerprint fingerprint(const PartialSum& sum, const std::string& description) noexcept {
  const std::uint64_t text = hash_of(description);
  return {mix(sum.low + mix(text_seeds[0] ^ text)), mix(sum.high + mix(text_seeds[1] ^ text))};
}

std::string describe_tensor(const std::string& name, const std::string& dtype, const Shape& shape) {
  return name + " " + dtype + " " + to_string(shape);
}

std::string to_string(const Fingerprint& fingerprint) {
  return fmt::format("{:016x}{:016x}", fingerprint.high, fingerprint.low);
}

}  // namespace ckpt
