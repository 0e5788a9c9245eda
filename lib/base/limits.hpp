#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ckpt {

/// What the system allows this process, and what it has taken of it already.

/// Raises this process's soft limit on open files as far as it may, up to 16,384: libraries hold tables of this length.
void raise_open_file_limit();

/// Where the address space is limited, lets threads share malloc arenas: glibc otherwise reserves 64 MiB for each
/// thread.
void spare_addresses();

struct OpenFiles {
  std::uint64_t most = 0;
  std::uint64_t open = 0;  ///< files, sockets, pipes: whatever has a number
};
OpenFiles open_files();

/// The most memory that this process has held at a time so far (VmHWM); 0 where the system doesn't tell.
std::uint64_t peak_resident_bytes();

/// Bytes of address space in use; 0 where the system doesn't tell.
std::uint64_t mapped_bytes();
/// Bytes of address space left (`ulimit -v`); 2^64 - 1 where there is no limit.
std::uint64_t addresses_left();

/// How much memory this process may come to: what the machine has, its control groups allow, and the hard limit on
/// addresses. The same in a child that has less for itself.
std::uint64_t memory_allowed();

/// The least that the control groups allow which /proc/self/cgroup names, and those above them, mounted in a directory:
/// memory.max, and of version 1 memory/…/memory.limit_in_bytes. 2^64 - 1 where none says anything.
/// https://docs.kernel.org/admin-guide/cgroup-v2.html
std::uint64_t memory_of_groups(const std::string& named, const std::filesystem::path& mounted);

/// Processors for each of so many processes of this node: those that this one is bound to, or else its part of all.
unsigned processors_of_each(int local_processes);

/// Whether no other thread runs in this process.
bool is_single_threaded();

}  // namespace ckpt
