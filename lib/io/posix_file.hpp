#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace ckpt {

struct FdTraits {
  using type = int;
  static int none() noexcept { return -1; }
  static void release(int fd) noexcept;
};
using Fd = Handle<FdTraits>;

/// Repeats a system call while signals interrupt it.
template <class Call>
auto retried(Call&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// The error of a path where no file is that a source needs, or another than is meant; `found` says which.
Error misses_file(const std::filesystem::path& path, std::string found);

/// An io error of a type of its own, since closing an open file lets another be opened.
class TooManyOpenFiles : public Error {
 public:
  explicit TooManyOpenFiles(const Error& error) : Error(error) {}
};

/// A regular file accessed by offset. Several threads may call the const functions at once. Errors name the file: kind
/// input for a source that is missing, not a regular file or too short, kind io for what the system refuses.
class PosixFile {
 public:
  struct Status {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;  ///< since the epoch
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };

  /// Throws input if there is no such file, or it is not a regular one.
  static PosixFile open_for_reading(const std::filesystem::path& path);
  /// Opens the file of `fd` again for direct I/O (O_DIRECT): offsets, lengths and memory addresses must be multiples of
  /// 4 KiB. Returns nothing if the file system does not support it. `path` is for messages.
  static std::optional<PosixFile> open_directly(int fd, const std::string& path);
  /// Opens an existing file for reading and writing.
  static PosixFile open_for_writing(const std::filesystem::path& path);
  /// Creates an empty file for reading and writing; throws io if there is one already.
  static PosixFile create_new(const std::filesystem::path& path);
  /// Creates an empty file for reading and writing; truncates an existing one.
  static PosixFile create(const std::filesystem::path& path);

  /// Opens a file for reading and writing; creates it if it is missing, and leaves an existing one unchanged.
  static PosixFile open_or_create(const std::filesystem::path& path);
  /// Takes over a file that is open already; `path` is for messages.
  static PosixFile adopt(std::string path, Fd fd) { return {std::move(path), std::move(fd)}; }

  /// Fills `out` from `offset` on. Throws input if the file ends before that.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// Reads as far as possible, at most to the file's end; returns the number of bytes.
  std::uint64_t read_up_to(std::uint64_t offset, std::span<std::byte> out) const noexcept;
  /// Returns `bytes` bytes from `offset` on. Throws input if the file ends before that.
  std::string text(std::uint64_t offset, std::uint64_t bytes) const;
  void write(std::uint64_t offset, std::span<const std::byte> data) const;
  void resize(std::uint64_t bytes) const;
  /// Resizes a file that will be written completely. If that makes writing faster, it allocates the missing blocks now
  /// (on ext4, writing then takes two thirds of the time); throws io if there are too few.
  void make_room(std::uint64_t bytes) const;
  /// Waits until data and size are on the disk.
  void sync() const;
  /// Asks the system to start reading these few bytes, unless the page cache holds them: several reads requested
  /// together take the time of one. This is advice: it neither waits nor fails. Returns whether there was nothing to
  /// request.
  bool will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Reads these bytes if the page cache holds all of them; otherwise returns false, without waiting.
  bool read_if_there(std::uint64_t offset, std::span<std::byte> out) const;
  /// Asks the system to drop the file from the page cache, so that it is read from storage.
  void drop_cached() const;
  Status status() const;

  /// Returns whether the file lies on a file system of this machine, where a mapped page costs no more than a read one.
  bool is_local() const;

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  PosixFile(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Fd fd_;
};

/// Returns whether the page cache holds most of these bytes, or of their first 4 MiB; true, too, if the system does not
/// tell.
bool is_in_memory(int fd, std::uint64_t offset, std::uint64_t bytes);

}  // namespace ckpt
