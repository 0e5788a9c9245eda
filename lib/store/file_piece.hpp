#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ckpt {

/// One of the pieces of equal length that a file is taken in; the file by what the system calls it.
struct FilePiece {
  std::uint64_t device, inode, index;
  friend bool operator==(const FilePiece&, const FilePiece&) = default;

  struct Hash {
    std::size_t operator()(const FilePiece& piece) const noexcept {
      return std::hash<std::uint64_t>{}((piece.inode * 0x9e3779b97f4a7c15ULL) ^ (piece.index << 20) ^ piece.device);
    }
  };
};

}  // namespace ckpt
