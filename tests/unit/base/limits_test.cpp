#include "base/limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;

TEST_CASE("open files are counted, and as many more allowed as the system lets us") {
  const OpenFiles before = open_files();
  const int another = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(open_files().open == before.open + 1);
  ::close(another);
  CHECK(open_files().open == before.open);

  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit low{64, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  CHECK(open_files().most == 64);
  raise_open_file_limit();
  CHECK(open_files().most == std::min<std::uint64_t>(limit.rlim_max, 16384));
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST_CASE("addresses that are left are the limit but for those that are taken") {
  CHECK(mapped_bytes() > 0);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlimit low{mapped_bytes() + (1U << 30), limit.rlim_max};
  setrlimit(RLIMIT_AS, &low);
  const std::uint64_t left = addresses_left();
  setrlimit(RLIMIT_AS, &limit);
  CHECK(left <= 1U << 30);
  CHECK(left > 1U << 29);
}

TEST_CASE("the memory that is allowed is the least of what all groups above a process say") {
  const fixture::TemporaryDirectory place;
  const auto put = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((place / file).parent_path());
    fixture::write_text(place / file, text + "\n");
  };
  const auto of = [&](const std::string& named) { return memory_of_groups(named, place / ""); };
  CHECK(of("0::/job/step\n") == UINT64_MAX);
  put("job/step/memory.max", "max");
  put("job/memory.max", "5000");
  put("memory.max", "9000");
  CHECK(of("0::/job/step\n") == 5000);
  CHECK(of("0::/\n") == 9000);
  put("memory/slurm/job/memory.limit_in_bytes", "4000");
  put("memory/memory.limit_in_bytes", "9223372036854771712");
  CHECK(of("8:pids:/\n4:cpu,memory:/slurm/job\n0::/job\n") == 4000);
  CHECK(of("4:memory:/another\n") == 9223372036854771712U);
  CHECK(of("no line of it\n") == UINT64_MAX);
  CHECK(memory_allowed() > 0);
  CHECK(memory_allowed() <= static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
}

TEST_CASE("another thread is seen") {
  const bool alone = is_single_threaded();
  bool with_another = true;
  std::thread([&] { with_another = is_single_threaded(); }).join();
  CHECK_FALSE(with_another);
#if !defined(__SANITIZE_THREAD__)  // it has a thread of its own
  CHECK(alone);
#endif
}

TEST_CASE("processes share the processors that they may use, and those alone") {
  const std::string ours = allowed_processors();
  CHECK(share_of(ours, {ours}).processors == std::thread::hardware_concurrency());
  CHECK_FALSE(share_of(ours, {ours}).is_crowded);

  const auto share = [](const std::string& own, const std::vector<std::string>& all) {
    const ProcessorShare its = share_of(own, all);
    return std::pair(its.processors, its.is_crowded);
  };
  const std::string low("\x0f");
  const std::string high("\xf0");
  const std::string other("\0\x01", 2);
  CHECK(share(low, {low, high, other}) == std::pair(4U, false));
  CHECK(share(low, {low, low, high}) == std::pair(2U, false));
  CHECK(share(low, {low, low, low, low}) == std::pair(1U, false));
  CHECK(share(low, {low, low, low, low, "\xff"}) == std::pair(1U, true));
  CHECK(share(other, {low, other, other}) == std::pair(1U, true));
  CHECK(share("", {"", ""}) == std::pair(1U, false));  // where the system does not say
}
