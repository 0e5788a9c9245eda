#pragma once

#include <cstdint>

namespace ckpt {

/// What the data of an array of so many bytes is aligned to in a new file: large data to pages, small data to cache
/// lines, which packs it.
constexpr std::uint64_t data_alignment(std::uint64_t bytes) noexcept {
  return bytes < 4096 ? 64 : 4096;
}

}  // namespace ckpt
