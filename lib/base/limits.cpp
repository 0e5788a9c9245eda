#include "base/limits.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace ckpt {

namespace {

constexpr rlim_t enough_open_files = 16384;

/// Returns 0 if there is no such directory.
std::uint64_t entries(const char* directory) {
  std::error_code error;
  std::uint64_t count = 0;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  return count;
}

/// Returns UINT64_MAX if the file does not contain a number.
std::uint64_t number_in(const std::filesystem::path& file) {
  std::uint64_t number = 0;
  return std::ifstream(file) >> number ? number : UINT64_MAX;
}

/// Returns the lowest limit of a group and all above it.
std::uint64_t memory_of_group(const std::filesystem::path& mounted, std::filesystem::path group, const char* file) {
  std::uint64_t least = number_in(mounted / file);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path())
    least = std::min(least, number_in(mounted / group / file));
  return least;
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
  return {limit.rlim_cur, open - std::min<std::uint64_t>(open, 1)};  // one of them was opened to count
}

std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(line.find_first_of("0123456789"))) << 10U;
  return 0;
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

std::uint64_t memory_of_groups(const std::string& named, const std::filesystem::path& mounted) {
  std::uint64_t least = UINT64_MAX;
  std::istringstream lines(named);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, memory_of_group(mounted, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, memory_of_group(mounted / "memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

std::uint64_t memory_allowed() {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  std::uint64_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
    most = std::min<std::uint64_t>(most, limit.rlim_max);
  std::ostringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  return std::min(most, memory_of_groups(groups.str(), "/sys/fs/cgroup"));
}

unsigned processors_of_each(int local_processes) {
  const int all = static_cast<int>(std::thread::hardware_concurrency());  // as many as this process may use
  const int node = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return static_cast<unsigned>(std::max(1, all < node ? all : all / local_processes));
}

bool is_single_threaded() {
  return entries("/proc/self/task") == 1;
}

}  // namespace ckpt
