#include "store/store.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace ckpt {

std::vector<Interval> written_later(const FileRoom& room) {
  std::vector<Interval> later;
  later.reserve(room.data.size() + 1);
  for (const FileExtents& data : room.data) data.append_to(later);
  if (room.manifest) later.push_back(*room.manifest);
  return later;
}

std::optional<FileStatus> SourceStore::look_at(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0)
    return FileStatus{static_cast<std::uint64_t>(found.st_size),
                      found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec,
                      S_ISDIR(found.st_mode)};
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw system_error(path.string(), "cannot be looked at", errno);
}

}  // namespace ckpt
