#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/error.hpp"

namespace ckpt {

/// Returns a + b. Throws input, "WHAT is 2^64 or more", on overflow: sizes come from files and layouts, which may lie.
inline std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, const char* what = "a size") {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Error(Kind::input, std::string(what) + " is 2^64 or more");
  return sum;
}

inline std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, const char* what = "a size") {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Error(Kind::input, std::string(what) + " is 2^64 or more");
  return product;
}

/// Returns `value` as a narrower type, for libraries that count in int. Throws input if it does not fit.
template <class To, class From>
To checked_narrow(From value, const char* what = "a size") {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  const To narrow = static_cast<To>(value);
  if (static_cast<From>(narrow) != value || ((narrow < To{}) != (value < From{})))
    throw Error(Kind::input, std::string(what) + " does not fit: " + std::to_string(value));
  return narrow;
}

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0);
}

/// Returns the smallest multiple of `step` that is at least `value`, checked.
inline std::uint64_t round_up(std::uint64_t value, std::uint64_t step, const char* what = "a size") {
  return checked_mul(ceil_div(value, step), step, what);
}

}  // namespace ckpt
