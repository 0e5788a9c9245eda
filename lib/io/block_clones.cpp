#include "io/block_clones.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"

namespace ckpt {

bool may_share_blocks(const std::filesystem::path& directory) noexcept {
  struct statfs info {};
  return ::statfs(directory.c_str(), &info) == 0 &&
         (info.f_type == XFS_SUPER_MAGIC || info.f_type == BTRFS_SUPER_MAGIC);
}

BlockClones::Target::Target(const std::filesystem::path& path)
    : file_(retried([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); })) {
  if (file_) return;
  if (errno == EMFILE || errno == ENFILE)
    throw TooManyOpenFiles(system_error(path.string(), "open", errno, "raise the limit on open files (ulimit -n)"));
  throw system_error(path.string(), "open", errno);
}

Interval BlockClones::whole_blocks(std::uint64_t offset, std::uint64_t place, std::uint64_t bytes) noexcept {
  if (offset % block != place % block) return {};
  const Interval whole{place + (block - place % block) % block, (place + bytes) / block * block};
  return whole.empty() || whole.size() < least_run ? Interval{} : whole;
}

Interval BlockClones::clone(const LocatedFile& source, std::uint64_t offset, const Target& target, std::uint64_t place,
                            std::uint64_t bytes) {
  const Interval shared = whole_blocks(offset, place, bytes);
  if (shared.empty() || is_refused(source.device)) return {};
  struct file_clone_range range {};
  range.src_fd = source.fd;
  range.src_offset = offset + (shared.lo - place);
  range.src_length = shared.size();
  range.dest_offset = shared.lo;
  if (retried([&] { return ::ioctl(target.file_.get(), FICLONERANGE, &range); }) == 0) return shared;
  refuse(source, errno);
  return {};
}

bool BlockClones::is_refused(std::uint64_t device) {
  const std::lock_guard lock(mutex_);
  return refused_.contains(device);
}

void BlockClones::refuse(const LocatedFile& source, int error) {
  const std::lock_guard lock(mutex_);
  if (refused_.insert(source.device).second)
    log::debug("{}: the output shares no blocks with it: {}", *source.path, std::strerror(error));
}

}  // namespace ckpt
