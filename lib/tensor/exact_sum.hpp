#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ckpt {

/// A sum of products of f64, without any rounding: whole multiples of its least bit, which is less than that of any
/// product (U. Kulisch's long accumulator). It has room for 2^100 products of magnitudes to 2^1360.
class ExactSum {
 public:
  /// Adds the product of two finite numbers, which must be a multiple of 2^-1484.
  void add(double factor, double other);
  /// The sum, rounded to the nearest f64, ties to even; infinite if it is too large; +0 if it is 0.
  double rounded() const;

 private:
  static constexpr int least_exponent = -1536;
  static constexpr std::size_t words = 48;

  /// Whole words, lowest first; those outside [begin, end) are 0.
  struct Magnitude {
    std::array<std::uint64_t, words> word{};
    std::size_t begin = words;
    std::size_t end = 0;

    void add(std::uint64_t number, std::size_t first_bit);
  };
  /// a - b, which must not be less than 0.
  static Magnitude difference(const Magnitude& a, const Magnitude& b);

  void add_scaled(double number, int exponent);

  Magnitude positive_;
  Magnitude negative_;
};

}  // namespace ckpt
