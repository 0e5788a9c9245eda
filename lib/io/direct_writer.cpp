#include "io/direct_writer.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io/writing_error.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t block = 4096;
/// Below this, the wait for the disk takes longer than what is saved.
constexpr std::uint64_t least_run = 256ULL << 10;

}  // namespace

bool has_fast_direct_writes(const std::filesystem::path& directory) noexcept {
  struct statfs info {};
  return ::statfs(directory.c_str(), &info) == 0 && (info.f_type == EXT4_SUPER_MAGIC || info.f_type == XFS_SUPER_MAGIC);
}

DirectWriter::DirectWriter(const std::filesystem::path& path)
    : path_(path.string()), file_(retried([&] { return ::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC); })) {
  if (!file_ && (errno == EMFILE || errno == ENFILE))
    throw TooManyOpenFiles(system_error(path_, "open", errno, "raise the limit on open files (ulimit -n)"));
}

Interval DirectWriter::write(std::uint64_t offset, std::span<const std::byte> data) const {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data.data()) % block == offset % block;
  if (!file_ || !is_aligned || data.size() < least_run) return {};
  const std::uint64_t first = (block - offset % block) % block;
  const std::uint64_t end = data.size() - (offset + data.size()) % block;
  Interval written{first, first};
  while (written.hi < end) {
    const ssize_t put = retried([&] {
      return ::pwrite(file_.get(), data.data() + written.hi, end - written.hi, static_cast<off_t>(offset + written.hi));
    });
    if (put < 0 && errno != EINVAL) throw writing_error(path_, "write", errno);
    if (put <= 0) break;
    written.hi += static_cast<std::uint64_t>(put);
  }
  return written;
}

}  // namespace ckpt
