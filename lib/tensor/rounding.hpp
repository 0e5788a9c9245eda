#pragma once

#include <bit>
#include <cstdint>

namespace ckpt::rounding {

// Numbers of f32 as other formats, to the nearest, ties to even: without branches, so that the compiler makes vectors
// of it.

inline constexpr std::uint32_t f32_sign = 0x80000000;
inline constexpr std::uint32_t f32_infinity = 0x7f800000;

/// Returns all ones if a < b, else zero. Compares magnitudes as signed numbers, which all instruction sets can do.
constexpr std::uint32_t below(std::uint32_t a, std::uint32_t b) noexcept {
  return 0U - static_cast<std::uint32_t>(static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b));
}

constexpr std::uint32_t select(std::uint32_t mask, std::uint32_t if_ones, std::uint32_t if_zero) noexcept {
  return (if_ones & mask) | (if_zero & ~mask);
}

/// The bits in f32 of a number of f16.
inline std::uint32_t of_f16(std::uint16_t bits) noexcept {
  constexpr std::uint32_t exponents = 0x7c00U << 13;
  constexpr std::uint32_t rebias = 112U << 23;
  constexpr std::uint32_t least_normal = 113U << 23;
  const std::uint32_t shifted = (bits & 0x7fffU) << 13;
  const std::uint32_t exponent = shifted & exponents;
  const float subnormal = std::bit_cast<float>(shifted + least_normal) - std::bit_cast<float>(least_normal);
  const std::uint32_t normal = shifted + rebias;
  const std::uint32_t finite = select(below(0, exponent), normal, std::bit_cast<std::uint32_t>(subnormal));
  return select(below(exponent, exponents), finite, normal + rebias) | (bits & 0x8000U) << 16;
}

/// f32 as it is.
struct ToF32 {
  using To = std::uint32_t;
  static constexpr std::uint32_t rounds_to_infinity = f32_infinity;  ///< the least magnitude that does
  static constexpr std::uint32_t number(std::uint32_t bits) noexcept { return bits; }
  static constexpr std::uint32_t not_a_number(std::uint32_t bits) noexcept { return bits; }
};

struct ToF16 {
  using To = std::uint16_t;
  static constexpr std::uint32_t rounds_to_infinity =
      0x477ff000;  ///< halfway from the largest number to the next, 65520
  static std::uint32_t number(std::uint32_t bits) noexcept {
    constexpr std::uint32_t least_normal = 0x38800000;  // 2^-14
    constexpr std::uint32_t half = 0x3f000000;          // its last bit has the value of a subnormal's last bit
    const std::uint32_t magnitude = bits & ~f32_sign;
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1U)) >> 13;
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(half);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - half;
    const std::uint32_t finite = select(below(magnitude, least_normal), subnormal, normal);
    return select(below(magnitude, rounds_to_infinity), finite, 0x7c00U) | (bits >> 16 & 0x8000U);
  }
  static constexpr std::uint32_t not_a_number(std::uint32_t bits) noexcept {
    return 0x7e00U | (bits >> 13 & 0x3ffU) | (bits >> 16 & 0x8000U);
  }
};

struct ToBF16 {
  using To = std::uint16_t;
  static constexpr std::uint32_t rounds_to_infinity = 0x7f7f8000;
  static constexpr std::uint32_t number(std::uint32_t bits) noexcept {
    return (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  }
  static constexpr std::uint32_t not_a_number(std::uint32_t bits) noexcept { return 0x7fc0U | (bits >> 16 & 0x8000U); }
};

}  // namespace ckpt::rounding
