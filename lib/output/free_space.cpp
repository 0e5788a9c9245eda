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

/// The disk space that a directory's files take.
std::uint64_t bytes_in(const fs::path& directory) {
  constexpr std::uint64_t bytes_of_block = 512;
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator each(directory, error), end; !error && each != end; each.increment(error)) {
    struct stat file {};
    if (::lstat(each->path().c_str(), &file) == 0) bytes += static_cast<std::uint64_t>(file.st_blocks) * bytes_of_block;
  }
  return bytes;
}

}  // namespace

void check_free_space(const fs::path& output, std::uint64_t bytes) {
  const OutputPlaces places(output);
  const fs::path above = existing(fs::absolute(places.target).parent_path());
  std::error_code error;
  const fs::space_info space = fs::space(above, error);
  if (error || space.available >= bytes || space.available + bytes_in(places.partial) >= bytes) return;
  throw Error(Kind::io, output.string(),
              {format_bytes(space.available) + " are free there, " + format_bytes(bytes - space.available) + " too few",
               "at least " + format_bytes(bytes) + " for the output", "free some space or write elsewhere"});
}

}  // namespace ckpt
