#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.hpp"

namespace ckpt {

/// The numbers that codes of 4 or 8 bits stand for, before they are scaled.
using CodeNumbers = std::array<float, 256>;

/// Returns the numbers of a signed byte, or of an 8-bit float: E4M3 or E5M2.
const CodeNumbers& numbers_of_bytes(ElementKind kind);
/// Returns the numbers of E2M1, floats of 4 bits (OCP Microscaling Formats 1.0): 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their
/// negatives.
const CodeNumbers& numbers_of_e2m1();

/// How codes lie in bytes.
enum class CodePacking : std::uint8_t { bytes, low_half_first, high_half_first };

constexpr std::uint64_t codes_per_byte(CodePacking packing) noexcept {
  return packing == CodePacking::bytes ? 1 : 2;
}

/// The numbers of codes that lie in bytes in some way.
class CodeTable {
 public:
  CodeTable() = default;
  CodeTable(CodePacking packing, const CodeNumbers& numbers);

  CodePacking packing() const noexcept { return packing_; }
  const CodeNumbers& numbers() const noexcept { return numbers_; }

  /// Looks codes up: `first` is the number of the first one, counted from the first code of `codes`.
  void look_up(std::span<const std::byte> codes, std::uint64_t first, std::span<float> out) const noexcept;

 private:
  CodePacking packing_ = CodePacking::bytes;
  CodeNumbers numbers_{};
  std::array<std::array<float, 2>, 256> pairs_{};  // of a byte's two codes
};

/// The code of E8M0 (OCP Microscaling Formats 1.0) that stands for no number.
inline constexpr std::byte e8m0_nan{255};
/// Returns the scale that a code of E8M0 stands for: 2^(code − 127). 255, which is NaN, becomes 2^128, infinity.
float e8m0_number(std::byte code) noexcept;

/// Scales of numbers: each is that of a block of them. Of the first block, `first` numbers lie before.
struct BlockScales {
  std::span<const float> scales;
  std::uint64_t block = 1;
  std::uint64_t first = 0;

  /// The scales from a later number on.
  BlockScales from(std::uint64_t number) const noexcept {
    const std::uint64_t at = first + number;
    return {scales.subspan(at / block), block, at % block};
  }
};

/// Multiplies numbers by their scales.
void scale_blocks(std::span<float> numbers, const BlockScales& scales) noexcept;

}  // namespace ckpt
