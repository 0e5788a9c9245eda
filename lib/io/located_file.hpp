#pragma once

#include <cstdint>
#include <string>

namespace ckpt {

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
