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

/// Makes a system call again for as long as signals interrupt it.
template <class Call>
auto retried(Call&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// An io error of its own: another file can be opened when one that is open has been closed.
class TooManyOpenFiles : public Error {
 public:
  explicit TooManyOpenFiles(const Error& error) : Error(error) {}
};

/// A regular file reached by offset. The const operations may be called from several threads at once. Errors name the
/// file: kind input for a source that is missing, no regular file or too short, kind io for what the system refuses.
class PosixFile {
 public:
  struct Status {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;  ///< since the epoch
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };

  /// Throws input when there is no such file or it is not a regular one.
  static PosixFile open_for_reading(const std::filesystem::path& path);
  /// The file that `fd` is, to be read past the system's memory (O_DIRECT): offsets and lengths are multiples of 4 KiB,
  /// as are addresses in memory. Nothing where the file system does not allow that. `path` is for messages.
  static std::optional<PosixFile> open_directly(int fd, const std::string& path);
  /// An existing file, for reading and writing.
  static PosixFile open_for_writing(const std::filesystem::path& path);
  /// A new, empty file for reading and writing; io when there is one already.
  static PosixFile create_new(const std::filesystem::path& path);
  /// The same, but one that is there is truncated.
  static PosixFile create(const std::filesystem::path& path);

  /// The same, but one that is there stays as it is.
  static PosixFile open_or_create(const std::filesystem::path& path);
  /// A file that is open already; `path` is for messages.
  static PosixFile adopt(std::string path, Fd fd) { return {std::move(path), std::move(fd)}; }

  /// Fills `out` from `offset` on. Throws input when the file ends before that.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same as far as it can be read, at most to the file's end: how many bytes that are.
  std::uint64_t read_up_to(std::uint64_t offset, std::span<std::byte> out) const noexcept;
  /// So many bytes from `offset` on. Throws input when the file ends before that.
  std::string text(std::uint64_t offset, std::uint64_t bytes) const;
  void write(std::uint64_t offset, std::span<const std::byte> data) const;
  void resize(std::uint64_t bytes) const;
  /// The same of a file all of which is to be written. Where that is faster for it, the blocks that it lacks are found
  /// now (ext4 takes two thirds of the time then); io where there are not enough.
  void make_room(std::uint64_t bytes) const;
  /// Waits until data and size are on the disk.
  void sync() const;
  /// Asks the system to begin reading these few bytes, unless it has them in memory: what is asked for together is read
  /// in the time of one. Advice: it does not wait for them, and never fails. Gives whether there was nothing to ask
  /// for.
  bool will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Reads these bytes if the system has all of them in memory; else gives false, without waiting.
  bool read_if_there(std::uint64_t offset, std::span<std::byte> out) const;
  /// Asks the system to forget what it keeps of the file in memory, so that it is read from the storage.
  void drop_cached() const;
  Status status() const;

  /// Whether it lies on a file system of this machine, where a mapped page costs no more than a read one.
  bool is_local() const;

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  PosixFile(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Fd fd_;
};

/// Whether the system has most of these bytes of a file, or of their first 4 MiB, in memory; so where it does not tell.
bool is_in_memory(int fd, std::uint64_t offset, std::uint64_t bytes);

}  // namespace ckpt
