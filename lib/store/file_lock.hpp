#pragma once

#include <sys/types.h>

#include <filesystem>

#include "store/posix_file.hpp"

namespace ckpt {

enum class LockAnswer { granted, refused, no_locks, failed };  ///< no_locks: the file system has none; failed: errno

/// Part of a file, whether or not there are such bytes. No length: to the end, wherever it is.
struct LockedBytes {
  off_t start = 0;
  off_t length = 0;
};

/// Asks for a lock (F_RDLCK, F_WRLCK) on an open file or gives it back (F_UNLCK); never waits. It is the open file's,
/// not the process's: it is not lost when the file is opened and closed elsewhere.
LockAnswer ask_lock(int fd, short kind, LockedBytes bytes = {});
/// Whether F_WRLCK would be granted.
LockAnswer would_lock(int fd, LockedBytes bytes);

/// Whether another process holds a lock with which it means to write an open file: by flock, as HDF5 does, or on its
/// bytes, as HDF5 does where there is no flock. `fd`: open for reading, and nobody else's. A lock that it takes itself
/// to find out is given back at once. Where a file system has no locks: false.
bool is_locked_by_writer(int fd);

/// Opens what has the name itself, which may be no link. Empty, with errno, where that fails.
Fd open_named(const std::filesystem::path& file, int flags);
/// Whether the name still stands for this open file.
bool is_named(int fd, const std::filesystem::path& file) noexcept;

}  // namespace ckpt
