#include "base/limits.hpp"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace ckpt {

namespace {

constexpr rlim_t enough_open_files = 16384;
constexpr std::size_t most_set_bytes = 65536;  // of processors

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

std::string allowed_processors() {
  std::string set(sizeof(cpu_set_t), '\0');
  const auto get = [&] { return ::sched_getaffinity(0, set.size(), reinterpret_cast<cpu_set_t*>(set.data())); };
  while (get() != 0 && errno == EINVAL && set.size() < most_set_bytes) set.assign(set.size() * 2, '\0');
  set.resize(set.find_last_not_of('\0') + 1);
  return set;
}

ProcessorShare share_of(const std::string& own, const std::vector<std::string>& all) {
  const auto common = [&](const std::string& other) {
    unsigned count = 0;
    for (std::size_t i = 0; i < std::min(own.size(), other.size()); ++i)
      count += static_cast<unsigned>(std::popcount(static_cast<unsigned char>(own[i] & other[i])));
    return count;
  };
  const unsigned processors = common(own);
  const auto sharers =
      static_cast<unsigned>(std::ranges::count_if(all, [&](const auto& each) { return common(each) != 0; }));
  return {std::max(1U, processors / std::max(1U, sharers)), sharers > processors};
}

bool is_single_threaded() {
  return entries("/proc/self/task") == 1;
}

}  // namespace ckpt
