#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/wire.hpp"
#include "io/posix_file.hpp"
#include "sandbox/isolated.hpp"

namespace ckpt {

/// Warns, once, that this process reads metadata itself, since it can have no child.
void warn_of_unguarded_reading();

/// Returns the limits of a child that reads this much metadata: the default ones, and more in proportion to its size.
IsolationLimits limits_for(std::uint64_t metadata_bytes, std::uint64_t memory_per_byte, std::uint64_t bytes_per_s);

/// Returns what `Read` gives for a file's metadata. A child process runs it, since a damaged file may crash it; this
/// process runs it only if no child can be had, which says nothing about the file. Throws as `Read` and `isolated` do.
template <auto Read>
auto read_guarded(const PosixFile& file, std::uint64_t file_bytes, const char* format, const IsolationLimits& limits) {
  using Result = decltype(Read(file, file_bytes));
  constexpr bool is_text = std::is_same_v<Result, std::string>;  // may be large, and is its own form
  const auto in_child = [](std::string_view argument, int fd) -> std::string {
    const auto [path, bytes] =
        wire::unpacked<std::tuple<std::string, std::uint64_t>>(argument, "a request for metadata");
    const PosixFile open = PosixFile::adopt(path, Fd(fd));
    if constexpr (is_text)
      return Read(open, bytes);
    else
      return wire::packed(Read(open, bytes));
  };
  if (auto said = isolated({in_child, wire::packed(file.path(), file_bytes), file.fd(), format, limits})) {
    if constexpr (is_text)
      return std::move(*said);
    else
      return wire::unpacked<Result>(*said, "metadata from a child process");
  }
  warn_of_unguarded_reading();
  return Read(file, file_bytes);
}

}  // namespace ckpt
