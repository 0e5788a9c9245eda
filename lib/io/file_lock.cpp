#include "io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace ckpt {

namespace {

LockAnswer answer_of(int result) {
  if (result == 0) return LockAnswer::granted;
  switch (errno) {
    case EAGAIN:
    case EACCES:
      return LockAnswer::refused;
    case ENOLCK:
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL:
      return LockAnswer::no_locks;
    default:
      return LockAnswer::failed;
  }
}

struct flock range_of(short kind, LockedBytes bytes) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = bytes.start;
  lock.l_len = bytes.length;
  return lock;
}

}  // namespace

LockAnswer ask_lock(int fd, short kind, LockedBytes bytes) {
  struct flock lock = range_of(kind, bytes);
  return answer_of(retried([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }));
}

LockAnswer would_lock(int fd, LockedBytes bytes) {
  struct flock lock = range_of(F_WRLCK, bytes);
  const LockAnswer answer = answer_of(retried([&] { return ::fcntl(fd, F_OFD_GETLK, &lock); }));
  return answer == LockAnswer::granted && lock.l_type != F_UNLCK ? LockAnswer::refused : answer;
}

bool is_locked_by_writer(int fd) {
  if (retried([&] { return ::flock(fd, LOCK_SH | LOCK_NB); }) == 0)
    ::flock(fd, LOCK_UN);
  else if (errno == EWOULDBLOCK)
    return true;
  struct flock lock = range_of(F_RDLCK, {});
  return retried([&] { return ::fcntl(fd, F_OFD_GETLK, &lock); }) == 0 && lock.l_type == F_WRLCK;
}

Fd open_named(const std::filesystem::path& file, int flags) {
  return Fd(retried([&] { return ::open(file.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666); }));
}

bool is_named(int fd, const std::filesystem::path& file) noexcept {
  struct stat mine {};
  struct stat there {};
  return ::fstat(fd, &mine) == 0 && ::lstat(file.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

}  // namespace ckpt
