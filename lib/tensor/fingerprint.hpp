#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tensor/region.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

/// The contribution of some of a tensor's elements to its fingerprint. The sums of parts that together contain every
/// element once add up to the sum of the whole, in any order and grouping. Zero bytes add only to the byte count.
struct PartialSum {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t bytes = 0;  ///< number of bytes summed

  PartialSum& operator+=(const PartialSum& other) noexcept {
    low += other.low;
    high += other.high;
    bytes += other.bytes;
    return *this;
  }
  friend PartialSum operator-(const PartialSum& a, const PartialSum& b) noexcept {
    return {a.low - b.low, a.high - b.high, a.bytes - b.bytes};
  }
  friend bool operator==(const PartialSum&, const PartialSum&) = default;
};

/// Which of the two sets of keys to use. For data in transit, which is compared once and immediately, one suffices
/// (`high` stays 0); a fingerprint that is kept has both.
enum class KeySets { both, low };

/// Sums bytes whose first is at byte `offset` of a tensor in row-major order. Algorithm and error bounds:
/// lib/tensor/README.md.
PartialSum sum_of(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;

/// Sums a box of this shape, of elements of `element` bytes. Its first element lies at `data`, with the given strides,
/// and is element `first` of a tensor in which the elements have the strides `tensor_strides`.
PartialSum sum_of(const Shape& shape, std::uint64_t element, const std::byte* data, const Shape& strides,
                  std::uint64_t first, const Shape& tensor_strides, KeySets sets = KeySets::both);

/// Sums a region that lies at `data` with its own strides. `tensor_strides` are the row-major strides of the whole
/// tensor; or those of its elements in another tensor, of which index 0 of the region's box would be element `first`.
PartialSum sum_of(const Region& region, std::uint64_t element, const std::byte* data, const Shape& tensor_strides,
                  KeySets sets = KeySets::both, std::uint64_t first = 0);

/// Copies a region from `source`, with its own strides, to `target`, where its elements have `target_strides`, and sums
/// it like sum_of: in one pass if runs are long enough and the processor has AVX-512.
PartialSum copy_and_sum(const Region& region, std::uint64_t element, const std::byte* source, std::byte* target,
                        const Shape& target_strides, const Shape& tensor_strides, KeySets sets,
                        std::uint64_t first = 0);

/// 128 bits that identify the content of a tensor or of a file. They depend neither on a layout nor on a version.
struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// A key that makes the sums of objects with different names incomparable.
class NameKey {
 public:
  explicit NameKey(const std::string& text) noexcept;
  /// Multiplies the sum by the key; the number of bytes stays the same.
  PartialSum operator*(const PartialSum& sum) const noexcept { return {sum.low * low_, sum.high * high_, sum.bytes}; }

 private:
  std::uint64_t low_;
  std::uint64_t high_;
};

/// Turns the sum of all elements into a fingerprint: `description` (for a tensor: its name, dtype and shape) is mixed
/// in.
Fingerprint fingerprint(const PartialSum& sum, const std::string& description) noexcept;

/// Returns the description for a tensor's fingerprint: "blocks/0/wq f32 [512, 4096]".
std::string describe_tensor(const std::string& name, const std::string& dtype, const Shape& shape);

/// Returns 32 hexadecimal digits, the high half first.
std::string to_string(const Fingerprint& fingerprint);

}  // namespace ckpt
