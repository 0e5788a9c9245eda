#pragma once

#include <cstdint>

namespace ckpt {

/// Returns the alignment of an array's data in a new file: pages for large data, and cache lines for small data, which
/// packs it.
constexpr std::uint64_t data_alignment(std::uint64_t bytes) noexcept {
  return bytes < 4096 ? 64 : 4096;
}

}  // namespace ckpt
