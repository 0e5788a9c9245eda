#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tensor/dtype.hpp"

namespace ckpt {

/// How to read the elements of a dtype as real numbers, for comparing or showing values. Moving them does not need it.
struct NumberFormat {
  ElementKind kind = ElementKind::ieee_float;  ///< boolean, an integer or a float
  std::uint64_t size = 0;                      ///< bytes
  bool is_swapped = false;                     ///< not in this machine's byte order
  bool is_float = true;
};

/// Returns nothing for elements that are not real numbers: complex numbers, text, compounds, opaque bytes.
std::optional<NumberFormat> number_format(const DType& dtype);

/// Returns whether two types have the same elements, in whatever form a file format stores them.
bool are_same_numbers(DType a, DType b);

/// Return the value of one element. An integer is exact if the result type can hold it.
std::int64_t signed_value(const NumberFormat& format, const std::byte* element);
std::uint64_t unsigned_value(const NumberFormat& format, const std::byte* element);
double float_value(const NumberFormat& format, const std::byte* element);

/// Whether all of `count` floating-point elements are finite.
bool are_finite(const NumberFormat& format, const std::byte* elements, std::uint64_t count);

/// The distance of two numbers: |a − b|, and that divided by max(|a|, |b|). It is 0 for equal numbers and for two NaNs;
/// a NaN or an infinity is infinitely far from anything else.
struct Distance {
  double absolute = 0;
  double relative = 0;
};

/// Returns the distance of two elements that are both floating-point, possibly in different formats, or both integers
/// of one format.
Distance distance(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b);

/// Returns whether each of `count` floating-point elements at `a`, rounded to the nearest number of `b`'s format (ties
/// to even), is the one at `b`. Zeros of either sign agree, and so do NaNs. A number that is too large becomes an
/// infinity. In a format of 8 bits it may become the largest number instead, as frameworks differ there, and NaN if the
/// format has no infinity.
bool round_to(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b,
              std::uint64_t count);

/// Returns an element with as few digits as distinguish it from its neighbours ("0.1", "-7", "nan"); anything that is
/// not a number in hexadecimal, byte by byte ("0x00ff").
std::string element_text(const DType& dtype, const std::byte* element);

}  // namespace ckpt
