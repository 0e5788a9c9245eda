#pragma once

#include <cstdint>

namespace ckpt {

/// Files share whole blocks, of this many bytes in most file systems.
inline constexpr std::uint64_t data_block = 4096;

/// Returns the first place from `end` on that lies at byte `in_block` of a block.
constexpr std::uint64_t next_in_block(std::uint64_t end, std::uint64_t in_block) noexcept {
  return end + (in_block + data_block - end % data_block) % data_block;
}

/// Returns the alignment of an array's data in a new file: pages for large data, and cache lines for small data, which
/// packs it.
constexpr std::uint64_t data_alignment(std::uint64_t bytes) noexcept {
  return bytes < data_block ? 64 : data_block;
}

}  // namespace ckpt
