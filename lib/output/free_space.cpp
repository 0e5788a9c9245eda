#include "output/free_space.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/posix_file.hpp"
#include "output/places.hpp"

namespace ckpt {

namespace fs = std::filesystem;

namespace {

/// The path itself if it exists, else the nearest existing directory above it.
fs::path existing(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

std::uint64_t disk_bytes(const fs::path& path) {
  constexpr std::uint64_t bytes_of_block = 512;
  struct stat file {};
  return ::lstat(path.c_str(), &file) == 0 ? static_cast<std::uint64_t>(file.st_blocks) * bytes_of_block : 0;
}

/// The disk space that a file takes, or the files in a directory.
std::uint64_t bytes_in(const fs::path& path) {
  std::uint64_t bytes = disk_bytes(path);
  std::error_code error;
  for (fs::recursive_directory_iterator each(path, error), end; !error && each != end; each.increment(error))
    bytes += disk_bytes(each->path());
  return bytes;
}

/// A file without a name, which goes when it is closed.
Fd nameless_file(const fs::path& directory) {
  if (Fd file(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)); file) return file;
  std::string name = (directory / ".ckpt-room-XXXXXX").string();  // network file systems make none without
  Fd file(::mkostemp(name.data(), O_CLOEXEC));
  if (file) ::unlink(name.c_str());
  return file;
}

/// Whether a quota refuses a file of this size; false where the file system does not say. The disk's own room does not
/// count: one file may lie on a part of it alone (Lustre's targets, Gluster's bricks).
bool quota_refuses(int file, std::uint64_t bytes) {
  struct statfs info {};
  if (::fstatfs(file, &info) != 0 || info.f_type == TMPFS_MAGIC) return false;  // room would take memory
  const auto size = static_cast<off_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<off_t>::max()));
  if (retried([&] { return ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size); }) == 0) return false;
  if (errno == EDQUOT) return true;
  constexpr std::array<char, 4096> block{};  // it reserves nothing: is there any room?
  const bool is_taken = retried([&] { return ::write(file, block.data(), block.size()); }) >= 0 &&
                        retried([&] { return ::fsync(file); }) == 0;
  return !is_taken && errno == EDQUOT;
}

}  // namespace

fs::path existing_directory(const fs::path& output) {
  return existing(fs::absolute(OutputPlaces(output).target).parent_path());
}

std::optional<std::uint64_t> free_space(const fs::path& output) {
  std::error_code error;
  const fs::space_info space = fs::space(existing_directory(output), error);
  if (error || space.capacity == 0) return std::nullopt;
  return space.available;
}

std::string refused_room(const fs::path& output, std::uint64_t bytes) {
  const std::uint64_t kept = bytes_in(OutputPlaces(output).partial);
  // Some file systems give a file that asks for more than there is all of it first: others' writes would fail
  // meanwhile.
  if (bytes <= kept || free_space(output).value_or(bytes) < bytes - kept) return "";
  const Fd file = nameless_file(existing_directory(output));
  const bool is_refused = file ? quota_refuses(file.get(), bytes - kept) : errno == EDQUOT;
  return is_refused ? std::generic_category().message(EDQUOT) : "";
}

void check_free_space(const fs::path& output, std::uint64_t bytes) {
  const std::optional<std::uint64_t> available = free_space(output);
  if (!available || *available >= bytes || *available + bytes_in(OutputPlaces(output).partial) >= bytes) {
    const std::string refused = refused_room(output, bytes);
    if (refused.empty()) return;
    throw Error(
        Kind::io, output.string(),
        {refused, "room for " + format_bytes(bytes) + ", the output", "free some of your quota or write elsewhere"})
        .passing();
  }
  throw Error(Kind::io, output.string(),
              {format_bytes(*available) + " are free there, " + format_bytes(bytes - *available) + " too few",
               "at least " + format_bytes(bytes) + " for the output", "free some space or write elsewhere"})
      .passing();
}

}  // namespace ckpt
