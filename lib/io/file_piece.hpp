#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ckpt {

/// One of the equally long pieces into which a file is divided; device and inode identify the file.
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
