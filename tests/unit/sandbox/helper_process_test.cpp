#include "sandbox/helper_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "unit/sandbox/isolated_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::mutex a_lock;  // as an allocator may have one

}  // namespace

TEST_CASE("isolated: a helper's children work at the same time") {
  const HelperProcess helper;
  std::array<int, 2> one{};
  std::array<int, 2> other{};
  REQUIRE(::pipe2(one.data(), O_CLOEXEC) == 0);
  REQUIRE(::pipe2(other.data(), O_CLOEXEC) == 0);
  const auto say = [](std::string_view word, int fd) { return std::to_string(::write(fd, word.data(), word.size())); };
  const auto hear = [](std::string_view, int fd) {
    std::string word(5, '\0');
    return ::read(fd, word.data(), word.size()) == 5 ? word : "nothing";
  };
  IsolationLimits limits;
  limits.idle_s = 5;
  // Each hears what a later one says: one after another, the first would wait in vain.
  const std::vector<IsolatedWork> works{{hear, "", one[0], "HDF5", limits},
                                        {hear, "", other[0], "HDF5", limits},
                                        {say, "hello", one[1], "HDF5", limits},
                                        {say, "there", other[1], "HDF5", limits}};
  CHECK(isolated(works) == std::vector<std::string>{"hello", "there", "5", "5"});
  for (const int end : {one[0], one[1], other[0], other[1]}) ::close(end);
}

TEST_CASE("isolated: of several works the first error counts, and the helper goes on") {
  const auto helper = perhaps_a_helper();
  const auto fail_with = [](std::string_view text, int) -> std::string { throw Error(Kind::input, std::string(text)); };
  const std::vector<IsolatedWork> works{
      {repeat, "ab", -1, "HDF5", {}}, {fail_with, "first", -1, "HDF5", {}}, {fail_with, "second", -1, "HDF5", {}}};
  CHECK_THROWS_WITH(isolated(works), "first");
  CHECK(done(repeat, "ab") == "abab");
}

TEST_CASE("isolated: the helper ends when it is told to, and a lost one is told of once") {
  auto helper = std::make_unique<HelperProcess>();
  const auto above = [](std::string_view, int) {
    // The parent watches this child; its own parent is the helper: the fourth word of "ID (NAME) STATE PARENT …".
    std::ifstream status("/proc/" + std::to_string(::getppid()) + "/stat");
    std::string word;
    for (int i = 0; i < 4; ++i) status >> word;
    return word;
  };
  const pid_t id = std::stoi(done(above).value());
  CHECK(id != ::getpid());
  const auto lose = [](std::string_view whom, int) -> std::string {
    ::kill(whom.empty() ? ::getppid() : std::stoi(std::string(whom)), SIGKILL);
    for (;;) ::pause();
  };
  for (const std::string& whom : {std::string(), std::to_string(id)}) {
    CHECK(done(repeat, "ab") == "abab");  // what watched the first was lost alone
    const Refusal found = refusal(lose, whom);
    CHECK(found.kind == Kind::io);
    CHECK_THAT(found.message, Contains("the process that reads metadata was ended from outside"));
  }
  CHECK_FALSE(done(repeat).has_value());
  helper.reset();
  CHECK(HelperProcess::current() == nullptr);
  CHECK(::waitpid(id, nullptr, WNOHANG) == -1);  // it is waited for: nothing is left
  CHECK(done(repeat, "ab") == "abab");
}

TEST_CASE("isolated: a helper's child finds no lock that a thread here holds, and nothing open") {
  const HelperProcess helper;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) std::vector<std::string>(100, std::string(100, 'y'));
    });
  std::size_t good = 0;
  for (int i = 0; i < 50; ++i) good += done(repeat, std::string(50'000, 'z')).value_or("").size() == 100'000 ? 1 : 0;
  stop = true;
  for (auto& thread : threads) thread.join();
  CHECK(good == 50);

  {
    const std::lock_guard held(a_lock);
    const auto take = [](std::string_view, int) {
      const std::lock_guard lock(a_lock);
      return std::string("had it");
    };
    CHECK(done(take) == "had it");
  }

  const int ours = ::open("/dev/null", O_RDONLY);
  const auto count = done([](std::string_view, int) {
    int open = 0;
    for (int fd = 0; fd < 1024; ++fd) open += ::fcntl(fd, F_GETFD) == -1 ? 0 : 1;
    return std::to_string(open);
  });
  ::close(ours);
  CHECK(count == "4");  // three standard streams and the pipe to speak into
}
