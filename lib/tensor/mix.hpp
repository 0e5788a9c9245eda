#pragma once

#include <cstdint>

namespace ckpt {

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014; the constants are Stafford's variant 13).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace ckpt
