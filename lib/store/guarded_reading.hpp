#pragma once

#include <string>
#include <string_view>

#include "base/byte_stream.hpp"
#include "io/posix_file.hpp"
#include "sandbox/isolated.hpp"

namespace ckpt {

/// Warns, once, that this process reads metadata itself, since it can have no child.
void warn_of_unguarded_reading();

/// Returns the limits of a child that reads this much metadata: the default ones, and more in proportion to its size.
IsolationLimits limits_for(std::uint64_t metadata_bytes, std::uint64_t memory_per_byte, std::uint64_t bytes_per_s);

/// Returns what `Read` gives for a file's metadata, as bytes. A child process runs it, since a damaged file may crash
/// it; this process runs it only if no child can be had, which says nothing about the file. Throws as `Read` and
/// `isolated` do.
template <std::string (*Read)(const PosixFile& file, std::uint64_t file_bytes)>
std::string read_guarded(const PosixFile& file, std::uint64_t file_bytes, const char* format,
                         const IsolationLimits& limits) {
  const auto in_child = [](std::string_view argument, int fd) {
    ByteReader in(argument, "a request for metadata");
    const std::uint64_t bytes = in.number();
    return Read(PosixFile::adopt(in.text(), Fd(fd)), bytes);
  };
  ByteWriter request;
  request.number(file_bytes);
  request.text(file.path());
  if (auto said = isolated({in_child, request.take(), file.fd(), format, limits})) return std::move(*said);
  warn_of_unguarded_reading();
  return Read(file, file_bytes);
}

}  // namespace ckpt
