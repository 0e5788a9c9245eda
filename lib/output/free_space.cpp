#include "output/free_space.hpp"

#include <sys/stat.h>

#include "base/error.hpp"
#include "base/text.hpp"
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

}  // namespace

std::optional<std::uint64_t> free_space(const fs::path& output) {
  const fs::path above = existing(fs::absolute(OutputPlaces(output).target).parent_path());
  std::error_code error;
  const fs::space_info space = fs::space(above, error);
  if (error || space.capacity == 0) return std::nullopt;
  return space.available;
}

void check_free_space(const fs::path& output, std::uint64_t bytes) {
  const std::optional<std::uint64_t> available = free_space(output);
  if (!available || *available >= bytes || *available + bytes_in(OutputPlaces(output).partial) >= bytes) return;
  throw Error(Kind::io, output.string(),
              {format_bytes(*available) + " are free there, " + format_bytes(bytes - *available) + " too few",
               "at least " + format_bytes(bytes) + " for the output", "free some space or write elsewhere"})
      .passing();
}

}  // namespace ckpt
