#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tensor/dtype.hpp"

namespace ckpt {

enum class NumberKind { signed_integer, unsigned_integer, f16, bf16, f32, f64 };

/// How the elements of a dtype are read as numbers, for those who compare values. Moving them needs none of this.
struct NumberFormat {
  NumberKind kind = NumberKind::f32;
  std::uint64_t size = 0;   ///< bytes
  bool is_swapped = false;  ///< not in this machine's byte order

  bool is_float() const noexcept { return kind != NumberKind::signed_integer && kind != NumberKind::unsigned_integer; }
};

/// Nothing for elements that are no numbers: strings, compounds, opaque bytes.
std::optional<NumberFormat> number_format(const DType& dtype);

/// How far two numbers are apart: |a − b|, and that divided by max(|a|, |b|). Equal numbers, and two NaNs, are 0 apart;
/// a NaN or an infinity is infinitely far from anything else.
struct Distance {
  double absolute = 0;
  double relative = 0;
};

/// Two floating-point numbers, or two integers of one format.
Distance distance(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b);

/// An element in as few digits as tell it from its neighbours ("0.1", "-7", "nan"); what is no number in hexadecimal,
/// byte by byte ("0x00ff").
std::string element_text(const DType& dtype, const std::byte* element);

}  // namespace ckpt
