#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tensor/cast.hpp"
#include "tensor/codes.hpp"
#include "tensor/number.hpp"

namespace ckpt {

/// Bytes as numbers of 16 bits.
using ShortNumbers = std::array<std::uint16_t, 256>;

/// Words of four-bit codes, the lowest first, that become numbers: (code − zero) · scale, each rounded to f32.
struct WordScales {
  const float* zeros = nullptr;   ///< by the number that is made
  const float* scales = nullptr;  ///< likewise
};

/// The passes over a block of numbers, for one instruction set.
struct ProductSteps {
  /// Multiplies numbers and rounds the products to the step's format. Returns false, and what is at `to` means nothing,
  /// if a product or its rounding is infinite.
  using Round = bool (*)(const float* numbers, const BlockScales& scales, std::byte* to, std::uint64_t count);
  Round to_f32;
  Round to_f16;
  Round to_bf16;
  void (*look_up)(const std::byte* codes, const ShortNumbers& table, std::byte* to, std::uint64_t count);
  /// The same, where a table has the upper halves of numbers whose lower ones are 0.
  void (*look_up_halves)(const std::byte* codes, const ShortNumbers& table, float* to, std::uint64_t count);
  /// Makes a number of the code `shift` bits above the lowest of each word.
  void (*of_words)(const std::byte* words, unsigned shift, const WordScales& scales, float* to, std::uint64_t count);
  /// Makes eight numbers of each word: of the codes at `shifts`.
  void (*of_all)(const std::byte* words, const std::array<std::uint32_t, 8>& shifts, const WordScales& scales,
                 float* to, std::uint64_t count);
};

/// Returns the step sets that this processor can run, fastest first; all give the same results.
std::span<const ProductSteps> product_steps();

/// Multiplies numbers of f32 by scales and rounds the products: to f32, then to a format, each time to the nearest,
/// ties to even.
class Products {
 public:
  /// `to`: f32, f16 or bf16 in this machine's byte order. `may_be_infinite`: some numbers are infinite already, so that
  /// infinite products tell nothing.
  Products(const NumberFormat& to, bool may_be_infinite, const ProductSteps& steps = product_steps().front());

  /// Rounds products of all numbers, which it may change. Returns whether finite numbers became infinite.
  bool run(std::span<float> numbers, const BlockScales& scales, std::byte* to) const;

  /// What `run` makes of each code's number, divided by `divisor` after it is scaled. Returns nothing if one becomes
  /// infinite. For formats of 16 bits.
  std::optional<ShortNumbers> table(const CodeNumbers& numbers, float scale, float divisor) const;

 private:
  Cast cast_;
  bool may_be_infinite_;
  ProductSteps::Round round_;
};

}  // namespace ckpt
