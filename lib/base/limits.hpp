#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ckpt {

/// The limits of this process, and its use of them.

/// Raises this process's soft limit on open files as far as allowed, up to 16,384: libraries hold tables of this
/// length.
void raise_open_file_limit();

/// If the address space is limited, makes threads share malloc arenas: otherwise glibc reserves 64 MiB for each thread.
void spare_addresses();

struct OpenFiles {
  std::uint64_t most = 0;
  std::uint64_t open = 0;  ///< files, sockets, pipes: all descriptors
};
OpenFiles open_files();

/// Returns the most memory that this process has held at any time (VmHWM); 0 if the system doesn't tell.
std::uint64_t peak_resident_bytes();

/// Returns the bytes of address space in use; 0 if the system doesn't tell.
std::uint64_t mapped_bytes();
/// Returns the bytes of address space left (`ulimit -v`); 2^64 - 1 without a limit.
std::uint64_t addresses_left();

/// Returns how much memory this process may use: the least of the machine's memory, its control groups' limits, and the
/// hard limit on addresses. It is the same in a child with a lower limit of its own.
std::uint64_t memory_allowed();

/// Returns the lowest limit of the control groups that /proc/self/cgroup names, and of those above them, mounted in a
/// directory: memory.max, and of version 1 memory/…/memory.limit_in_bytes. 2^64 - 1 without a limit.
/// https://docs.kernel.org/admin-guide/cgroup-v2.html
std::uint64_t memory_of_groups(const std::string& named, const std::filesystem::path& mounted);

/// Returns the processors that this process may use (its affinity, which cpusets and launchers limit), a bit each.
std::string allowed_processors();

/// The part of the allowed processors that one process gets.
struct ProcessorShare {
  unsigned processors = 1;  ///< its own; at least one
  bool is_crowded = false;  ///< more processes may use some of them than there are
};
/// Computes it from what each process of the node may use, of which this one is `own`.
ProcessorShare share_of(const std::string& own, const std::vector<std::string>& all);

/// Returns whether no other thread runs in this process.
bool is_single_threaded();

}  // namespace ckpt
