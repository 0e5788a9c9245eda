#pragma once
/// Linux's calls that glibc wraps only in versions newer than the oldest that the portable program runs with.

#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace ckpt::kernel {

/// renameat2(2), in glibc since 2.28. Returns 0, or -1 with errno.
inline long renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) {
  return ::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
}

/// preadv2(2), in glibc since 2.26. Returns the bytes read, or -1 with errno.
inline ssize_t preadv2(int fd, const struct iovec* parts, int count, off_t at, int flags) {
  // The kernel takes an offset in two halves, of which the lower one is all of it where registers have 64 bits.
  static_assert(sizeof(long) == 8);
  return ::syscall(SYS_preadv2, fd, parts, static_cast<long>(count), at, 0L, flags);
}

}  // namespace ckpt::kernel
