#include "base/limits.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace ckpt {

namespace {

constexpr rlim_t enough_open_files = 16384;

/// 0 where there is no such directory.
std::uint64_t entries(const char* directory) {
  std::error_code error;
  std::uint64_t count = 0;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  return count;
}

}  // namespace

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, enough_open_files);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void spare_addresses() {
  if (addresses_left() != UINT64_MAX) ::mallopt(M_ARENA_MAX, 1);
}

OpenFiles open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1024;
  const std::uint64_t open = entries("/proc/self/fd");
  return {limit.rlim_cur, open - std::min<std::uint64_t>(open, 1)};  // one was open to look
}

std::uint64_t mapped_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t addresses_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, mapped_bytes());
}

bool is_single_threaded() {
  return entries("/proc/self/task") == 1;
}

}  // namespace ckpt
