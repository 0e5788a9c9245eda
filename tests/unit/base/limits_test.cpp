#include "base/limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "catch.hpp"

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

TEST_CASE("another thread is seen") {
  const bool alone = is_single_threaded();
  bool with_another = true;
  std::thread([&] { with_another = is_single_threaded(); }).join();
  CHECK_FALSE(with_another);
#if !defined(__SANITIZE_THREAD__)  // it has a thread of its own
  CHECK(alone);
#endif
}
