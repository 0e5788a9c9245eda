#pragma once

#include <cstdint>

namespace ckpt {

/// What the system allows this process, and what it has taken of it already.

/// Lets this process open more files than it was started with, as far as it may: up to 16,384, since libraries hold
/// tables of this length.
void raise_open_file_limit();

/// Where addresses are limited, lets threads share what they allocate from, of which glibc otherwise sets 64 MiB aside
/// for each.
void spare_addresses();

struct OpenFiles {
  std::uint64_t most = 0;
  std::uint64_t open = 0;  ///< files, sockets, pipes: whatever has a number
};
OpenFiles open_files();

/// Addresses that are taken; 0 where the system doesn't tell.
std::uint64_t mapped_bytes();
/// Addresses that may still be taken (`ulimit -v`); 2^64 - 1 where there is no limit.
std::uint64_t addresses_left();

/// Whether no other thread runs in this process.
bool is_single_threaded();

}  // namespace ckpt
