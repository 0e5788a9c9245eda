#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace ckpt {

/// Integers of fewer than 8 bits, of which files of TensorFlow and zarr hold one in each byte. The upper bits of these
/// bytes have no meaning: ml_dtypes writes zeros there, for negative numbers too.
struct NarrowNumber {
  unsigned bits = 0;
  bool is_signed = false;
};

/// Returns what the mark of a dtype means ("int4", "uint2"); nothing for other marks.
std::optional<NarrowNumber> narrow_number(std::string_view mark);

/// Makes each byte the number of 8 bits that its lower bits are.
void widen(const NarrowNumber& number, std::span<std::byte> bytes);

}  // namespace ckpt
