#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

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

/// An open file, with all that it takes to map a part of it or to read it in another way.
struct LocatedFile {
  int fd = -1;
  const std::string* path = nullptr;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  /// Whether mapping is as fast as reading: on a network file system each page fault waits for the network.
  bool is_local = true;
};

}  // namespace ckpt
