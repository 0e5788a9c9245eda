#pragma once

#include <cstdint>

namespace ckpt {

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014; the constants are Stafford's variant 13).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The inverse of `mix`: mix(unmixed(x)) == x.
constexpr std::uint64_t unmixed(std::uint64_t x) noexcept {
  // The inverses of mix's factors modulo 2^64.
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089;
  return x ^ (x >> 30) ^ (x >> 60);
}
static_assert(unmixed(mix(0x0123456789abcdef)) == 0x0123456789abcdef && mix(unmixed(~0ULL)) == ~0ULL);

}  // namespace ckpt
