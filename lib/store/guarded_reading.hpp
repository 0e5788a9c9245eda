#pragma once

#include <string>
#include <string_view>

#include "base/byte_stream.hpp"
#include "store/isolated.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

/// Says, once, that metadata is read by this process itself, since it can have no child.
void warn_of_unguarded_reading();

/// What a child may use for metadata of so many bytes, besides what any may.
IsolationLimits limits_for(std::uint64_t metadata_bytes, std::uint64_t memory_per_byte, std::uint64_t bytes_per_s);

/// What `Read` says of a file's metadata, as bytes. A child process does it, since a damaged file may crash it; this
/// one only where it can have none: a limit on processes says nothing about the file. Throws what `Read` does, and as
/// `isolated`.
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
