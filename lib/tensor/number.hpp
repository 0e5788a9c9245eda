#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "tensor/dtype.hpp"

namespace ckpt {

/// How the elements of a dtype are read as real numbers, for those who compare or show values. Moving them needs none
/// of this.
struct NumberFormat {
  ElementKind kind = ElementKind::ieee_float;  ///< boolean, an integer or a float
  std::uint64_t size = 0;                      ///< bytes
  bool is_swapped = false;                     ///< not in this machine's byte order
  bool is_float = true;
};

/// Nothing for elements that are no real numbers: complex ones, text, compounds, opaque bytes.
std::optional<NumberFormat> number_format(const DType& dtype);

/// Whether two types have the same elements, in whatever form a file format holds them.
bool are_same_numbers(DType a, DType b);

/// The value of one element. An integer is exact wherever the result type can hold it.
std::int64_t signed_value(const NumberFormat& format, const std::byte* element);
std::uint64_t unsigned_value(const NumberFormat& format, const std::byte* element);
double float_value(const NumberFormat& format, const std::byte* element);

/// How far two numbers are apart: |a − b|, and that divided by max(|a|, |b|). Equal numbers, and two NaNs, are 0 apart;
/// a NaN or an infinity is infinitely far from anything else.
struct Distance {
  double absolute = 0;
  double relative = 0;

  static auto fields(auto& self) { return std::tie(self.absolute, self.relative); }
};

/// The distance of two elements that are both floating-point, in formats that may differ, or both integers of one
/// format.
Distance distance(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b);

/// Whether each of `count` floating-point elements at `a`, rounded to the nearest number of `b`'s format (ties to
/// even), is the one at `b`. Zeros of both signs agree, and NaNs. What is too large becomes an infinity; in a format of
/// 8 bits it may be the largest number instead, as frameworks differ there, and NaN where there is no infinity.
bool round_to(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b,
              std::uint64_t count);

/// An element in as few digits as tell it from its neighbours ("0.1", "-7", "nan"); what is no number in hexadecimal,
/// byte by byte ("0x00ff").
std::string element_text(const DType& dtype, const std::byte* element);

}  // namespace ckpt
