#pragma once

#include <sys/types.h>

#include <filesystem>

#include "io/posix_file.hpp"

namespace ckpt {

/// no_locks: the file system does not support locks; failed: see errno.
enum class LockAnswer { granted, refused, no_locks, failed };

/// A part of a file, whether or not these bytes exist. Length 0: to the end, wherever it is.
struct LockedBytes {
  off_t start = 0;
  off_t length = 0;
};

/// Takes a lock (F_RDLCK, F_WRLCK) on an open file or releases it (F_UNLCK); never waits. The lock belongs to the open
/// file, not to the process: it survives when the file is opened and closed elsewhere.
LockAnswer ask_lock(int fd, short kind, LockedBytes bytes = {});
/// Returns whether F_WRLCK would be granted.
LockAnswer would_lock(int fd, LockedBytes bytes);

/// Returns whether another process holds a writer's lock on an open file: by flock, as HDF5 does, or on its bytes, as
/// HDF5 does without flock. `fd` is open for reading, and shared with nobody. A lock that is taken to find out is
/// released at once. False if the file system has no locks.
bool is_locked_by_writer(int fd);

/// Opens the file of this name itself, which must not be a symbolic link. Returns an empty Fd, with errno set, on
/// failure.
Fd open_named(const std::filesystem::path& file, int flags);
/// Returns whether the name still refers to this open file.
bool is_named(int fd, const std::filesystem::path& file) noexcept;

}  // namespace ckpt
