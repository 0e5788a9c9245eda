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

/// Looks codes up: `first` is the number of the first one, counted from the first code of `codes`.
void look_up(std::span<const std::byte> codes, std::uint64_t first, CodePacking packing, const CodeNumbers& numbers,
             std::span<float> out) noexcept;

/// The code of E8M0 (OCP Microscaling Formats 1.0) that stands for no number.
inline constexpr std::byte e8m0_nan{255};
/// Returns the scale that a code of E8M0 stands for: 2^(code − 127). 255, which is NaN, becomes 2^128, infinity.
float e8m0_number(std::byte code) noexcept;

/// Multiplies each run of `block` numbers by its scale; the first run has `first` numbers less.
void scale_blocks(std::span<float> numbers, std::uint64_t first, std::uint64_t block,
                  std::span<const float> scales) noexcept;

}  // namespace ckpt
