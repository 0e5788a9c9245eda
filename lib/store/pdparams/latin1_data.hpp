#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "io/file_extents.hpp"
#include "io/posix_file.hpp"

namespace ckpt::pdparams {

/// Bytes that a pickle of protocol 2 stores as a text: each is a character, and takes two bytes of UTF-8 from 0x80 on.
/// The first read looks through all of them, so that any part can be read afterwards. Threads may share an object.
class Latin1Data {
 public:
  /// `bytes`: how many bytes the text stands for. All arguments must outlive it.
  Latin1Data(const PosixFile& file, const FileExtents& text, std::uint64_t bytes)
      : file_(file), text_(text), bytes_(bytes) {}

  /// Throws input if it is no such text, or stands for another number of bytes.
  void read(std::uint64_t offset, std::span<std::byte> out);

 private:
  class Stream;
  void look_through();

  const PosixFile& file_;
  const FileExtents& text_;
  std::uint64_t bytes_;
  std::once_flag is_known_;
  std::vector<std::uint64_t> steps_;  // where in the text each step's first byte is
};

}  // namespace ckpt::pdparams
