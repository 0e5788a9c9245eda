#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "io/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Whether a file's data is written past the page cache.
enum class DirectIo : std::uint8_t { automatic, on, off };

/// Returns whether direct writes are known to be fast in this directory: on ext4 and XFS.
bool has_fast_direct_writes(const std::filesystem::path& directory) noexcept;

/// Writes long runs of an existing file with direct I/O (O_DIRECT): the system neither finds memory for their pages nor
/// copies them, and nothing is left to be written when the file is flushed. Several threads may use one.
class DirectWriter {
 public:
  /// Opens the file. It must not be resized while this lives.
  explicit DirectWriter(const std::filesystem::path& path);

  /// Returns whether the file system refuses direct I/O: `write` writes nothing then.
  bool is_refused() const noexcept { return !file_; }

  /// Writes the whole pages of a run that begins at `offset`, if it is long, and begins in memory where it begins in
  /// its page of the file. Returns which bytes of `data` are written. The others are for an ordinary write: the ends of
  /// the run, and what the file system does not write directly (EINVAL). Throws io for what the system refuses
  /// otherwise.
  Interval write(std::uint64_t offset, std::span<const std::byte> data) const;

 private:
  std::string path_;
  Fd file_;
};

}  // namespace ckpt
