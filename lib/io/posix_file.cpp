#include "io/posix_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/kernel_calls.hpp"
#include "io/writing_error.hpp"

namespace ckpt {

namespace {

/// Limit on one system call: Linux truncates transfers above 2 GiB anyway.
constexpr std::size_t max_transfer = 1U << 30;

Fd open_fd(const std::string& path, int flags) {
  return Fd(retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
}

off_t file_offset(std::uint64_t offset) {
  return checked_narrow<off_t>(offset, "a file offset");
}

struct stat stat_of(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw system_error(path, "stat", errno);
  return info;
}

/// Returns Linux's number for the kind of file system (statfs(2)); 0 if it gives none.
std::int64_t file_system_of(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 ? static_cast<std::int64_t>(info.f_type) : 0;
}

const char* remedy_for_writing(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
      return "free some space or write elsewhere";
    case EDQUOT:
      return "free some of your quota or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose an output that you may write";
    case ENOENT:
      return "does its directory exist?";
    case EFBIG:
      return "the file system or `ulimit -f` does not allow files of this size";
    default:
      return "";
  }
}

[[noreturn]] void fail_to_open(const std::string& path, const char* action, int errno_value, const char* remedy = "") {
  if (errno_value != EMFILE && errno_value != ENFILE) throw system_error(path, action, errno_value, remedy);
  throw TooManyOpenFiles(system_error(path, action, errno_value, "raise the limit on open files (ulimit -n)"));
}

/// Returns whether a byte can be read without waiting for the storage. Nothing if the file system cannot tell: network
/// file systems refuse the question.
std::optional<bool> is_there(int fd, off_t at) {
  char byte = 0;
  const struct iovec one { &byte, 1 };
  const ssize_t read = kernel::preadv2(fd, &one, 1, at, RWF_NOWAIT);
  if (read == 1) return true;
  return read == -1 && errno == EAGAIN ? std::optional(false) : std::nullopt;
}

/// mincore claims that everything is in memory for files that this process neither owns nor may write.
bool can_trust_mincore(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) == 0 && info.st_uid == ::geteuid()) return true;
  return ::faccessat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), W_OK, AT_EACCESS) == 0;
}

}  // namespace

Error writing_error(const std::string& path, const char* action, int errno_value) {
  return system_error(path, action, errno_value, remedy_for_writing(errno_value));
}

void FdTraits::release(int fd) noexcept {
  ::close(fd);
}

Error misses_file(const std::filesystem::path& path, std::string found) {
  return {Kind::input, path.string(), {std::move(found), "", "check the path, and `files` where a layout is given"}};
}

PosixFile PosixFile::open_for_reading(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; it has no effect on regular files.
  Fd fd = open_fd(path.string(), O_RDONLY | O_NONBLOCK);
  if (!fd) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) throw misses_file(path, "no such file");
    fail_to_open(path.string(), "open", error);
  }
  const auto mode = stat_of(fd.get(), path.string()).st_mode;
  if (!S_ISREG(mode))
    throw Error(Kind::input, path.string(), {S_ISDIR(mode) ? "is a directory" : "is no regular file", "a file", ""});
  return {path.string(), std::move(fd)};
}

std::optional<PosixFile> PosixFile::open_directly(int fd, const std::string& path) {
  // Opened by its descriptor, since another file may have the path by now.
  Fd direct = open_fd("/proc/self/fd/" + std::to_string(fd), O_RDONLY | O_DIRECT);
  if (!direct) return std::nullopt;
  return PosixFile(path, std::move(direct));
}

PosixFile PosixFile::open_for_writing(const std::filesystem::path& path) {
  Fd fd = open_fd(path.string(), O_RDWR);
  if (!fd) fail_to_open(path.string(), "open", errno, remedy_for_writing(errno));
  return {path.string(), std::move(fd)};
}

PosixFile PosixFile::create_new(const std::filesystem::path& path) {
  Fd fd = open_fd(path.string(), O_RDWR | O_CREAT | O_EXCL);
  if (!fd) fail_to_open(path.string(), "create", errno, remedy_for_writing(errno));
  return {path.string(), std::move(fd)};
}

PosixFile PosixFile::create(const std::filesystem::path& path) {
  Fd fd = open_fd(path.string(), O_RDWR | O_CREAT | O_TRUNC);
  if (!fd) fail_to_open(path.string(), "create", errno, remedy_for_writing(errno));
  return {path.string(), std::move(fd)};
}

PosixFile PosixFile::open_or_create(const std::filesystem::path& path) {
  Fd fd = open_fd(path.string(), O_RDWR | O_CREAT);
  if (!fd) fail_to_open(path.string(), "create", errno, remedy_for_writing(errno));
  return {path.string(), std::move(fd)};
}

void PosixFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t end = checked_add(offset, out.size(), "a file offset");
  file_offset(end);
  while (!out.empty()) {
    const ssize_t got = retried(
        [&] { return ::pread(fd(), out.data(), std::min(out.size(), max_transfer), static_cast<off_t>(offset)); });
    if (got < 0) throw system_error(path_, "read", errno);
    if (got == 0)
      throw Error(Kind::input, path_,
                  {"ends at byte " + std::to_string(status().bytes), std::to_string(end), "was it truncated?"});
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t PosixFile::read_up_to(std::uint64_t offset, std::span<std::byte> out) const noexcept {
  std::uint64_t read = 0;
  while (read < out.size()) {
    const ssize_t got = retried([&] {
      return ::pread(fd(), out.data() + read, std::min(out.size() - read, max_transfer),
                     static_cast<off_t>(offset + read));
    });
    if (got <= 0) break;
    read += static_cast<std::uint64_t>(got);
  }
  return read;
}

std::string PosixFile::text(std::uint64_t offset, std::uint64_t bytes) const {
  std::string all(bytes, '\0');
  read(offset, std::as_writable_bytes(std::span(all)));
  return all;
}

void PosixFile::write(std::uint64_t offset, std::span<const std::byte> data) const {
  // The page cache takes one block of memory for what a call writes, up to 2 MiB. A virtual machine has handed the
  // large ones back to its host: whoever touches them waits for it, up to ten times as long as for smaller ones.
  constexpr std::uint64_t largest = 256ULL << 10;
  file_offset(checked_add(offset, data.size(), "a file offset"));
  while (!data.empty()) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), largest - offset % largest));
    const ssize_t put = retried([&] { return ::pwrite(fd(), data.data(), bytes, static_cast<off_t>(offset)); });
    if (put < 0) throw system_error(path_, "write", errno, remedy_for_writing(errno));
    if (put == 0) throw system_error(path_, "write", EIO);  // POSIX allows 0 only for an empty write
    offset += static_cast<std::uint64_t>(put);
    data = data.subspan(static_cast<std::size_t>(put));
  }
}

void PosixFile::resize(std::uint64_t bytes) const {
  const off_t size = file_offset(bytes);
  if (retried([&] { return ::ftruncate(fd(), size); }) != 0)
    throw system_error(path_, "resize", errno, remedy_for_writing(errno));
}

void PosixFile::make_room(std::uint64_t bytes) const {
  constexpr std::uint64_t least = 1ULL << 20;  // below this, it takes as long as it saves
  resize(bytes);
  if (bytes < least || file_system_of(fd()) != EXT4_SUPER_MAGIC) return;
  if (retried([&] { return ::fallocate(fd(), 0, 0, static_cast<off_t>(bytes)); }) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT) throw system_error(path_, "make room", errno, remedy_for_writing(errno));
}

void PosixFile::sync() const {
  if (retried([&] { return ::fsync(fd()); }) != 0) throw system_error(path_, "fsync", errno, remedy_for_writing(errno));
}

bool PosixFile::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t most = std::numeric_limits<off_t>::max();
  if (bytes == 0 || offset > most || bytes > most - offset) return true;
  if (is_there(fd(), static_cast<off_t>(offset + bytes - 1)).value_or(false)) return true;
  ::posix_fadvise(fd(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
  return false;
}

bool PosixFile::read_if_there(std::uint64_t offset, std::span<std::byte> out) const {
  const struct iovec all { out.data(), out.size() };
  const ssize_t read = kernel::preadv2(fd(), &all, 1, file_offset(offset), RWF_NOWAIT);
  return read >= 0 && static_cast<std::size_t>(read) == out.size();
}

void PosixFile::drop_cached() const {
  ::posix_fadvise(fd(), 0, 0, POSIX_FADV_DONTNEED);  // advice: a system that ignores it reads from memory
}

PosixFile::Status PosixFile::status() const {
  const struct stat info = stat_of(fd(), path_);
  return {static_cast<std::uint64_t>(info.st_size),
          info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec,
          static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

bool PosixFile::is_local() const {
  static constexpr std::array<std::int64_t, 5> local{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
                                                     OVERLAYFS_SUPER_MAGIC};
  return std::find(local.begin(), local.end(), file_system_of(fd())) != local.end();
}

bool is_in_memory(int fd, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t most_looked_at = 4ULL << 20;
  bytes = std::min(bytes, most_looked_at);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t skipped = offset % page;
  void* const address =
      ::mmap(nullptr, bytes + skipped, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset - skipped));
  if (address == MAP_FAILED) return true;
  std::vector<unsigned char> pages(ceil_div(bytes + skipped, page));
  const bool is_told = ::mincore(address, bytes + skipped, pages.data()) == 0;
  ::munmap(address, bytes + skipped);
  const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1U) != 0; });
  if (is_told && static_cast<std::uint64_t>(there) * 2 < pages.size()) return false;
  return !is_told || can_trust_mincore(fd) || is_there(fd, static_cast<off_t>(offset + bytes / 2)).value_or(true);
}

}  // namespace ckpt
