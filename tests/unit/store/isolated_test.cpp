#include "store/isolated.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "store/helper_process.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

using Work = std::string (*)(std::string_view argument, int fd);

std::string repeat(std::string_view argument, int) {
  return std::string(argument) + std::string(argument);
}

/// Every case below holds for children of this process and for those of a helper.
std::unique_ptr<HelperProcess> perhaps_a_helper() {
  if (!GENERATE(false, true)) return nullptr;
  auto helper = std::make_unique<HelperProcess>();
  REQUIRE(HelperProcess::current() == helper.get());
  return helper;
}

std::optional<std::string> done(Work work, const std::string& argument = "", const IsolationLimits& limits = {}) {
  return isolated({work, argument, -1, "HDF5", limits});
}

struct Refusal {
  Kind kind;
  std::string message;
};

Refusal refusal(Work work, const std::string& argument = "", const IsolationLimits& limits = {}) {
  try {
    done(work, argument, limits);
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  FAIL("no Error");
  std::abort();
}

std::string die_of(std::string_view signal, int) {
  std::raise(std::stoi(std::string(signal)));
  std::abort();
}

std::string wait_for_ever(std::string_view, int) {
  for (;;) ::pause();
}

int value_here = 1;
std::mutex a_lock;  // as an allocator may have one

}  // namespace

TEST_CASE("isolated: gives what the work returned") {
  const auto helper = perhaps_a_helper();
  CHECK(done(repeat) == "");
  CHECK(done(repeat, "ab") == "abab");
  const std::string long_one(5U << 20, 'x');  // far more than a pipe or a socket holds
  CHECK(done(repeat, long_one) == long_one + long_one);
}

TEST_CASE("isolated: the work changes nothing here") {
  const auto helper = perhaps_a_helper();
  CHECK(done([](std::string_view, int) { return std::to_string(++value_here); }) == "2");
  CHECK(value_here == 1);
}

TEST_CASE("isolated: the work reads a file that is open here, whatever its name") {
  const auto helper = perhaps_a_helper();
  const int file = ::memfd_create("no name", MFD_CLOEXEC);
  REQUIRE(::write(file, "in a file", 9) == 9);
  const auto read = [](std::string_view, int fd) {
    std::string bytes(9, '\0');
    return ::pread(fd, bytes.data(), bytes.size(), 0) == 9 ? bytes : "nothing";
  };
  CHECK(isolated({read, "", file, "HDF5", {}}) == "in a file");
  ::close(file);
}

TEST_CASE("isolated: an Error arrives as it was") {
  const auto helper = perhaps_a_helper();
  const Refusal found = refusal([](std::string_view, int) -> std::string {
    throw Error(Kind::layout, "a.h5", {"stored [2]", "expected [3]", "save it again"});
  });
  CHECK(found.kind == Kind::layout);
  CHECK(found.message == "a.h5: stored [2], expected [3]; save it again");
}

TEST_CASE("isolated: another exception becomes an Error") {
  const auto helper = perhaps_a_helper();
  CHECK(refusal([](std::string_view, int) -> std::string { throw std::length_error("too long"); }).message ==
        "too long");
}

TEST_CASE("isolated: a crash is an input error that names the signal") {
  const auto helper = perhaps_a_helper();
  for (const int signal : {SIGSEGV, SIGFPE, SIGBUS, SIGABRT}) {
    const Refusal found = refusal(die_of, std::to_string(signal));
    CHECK(found.kind == Kind::input);
    CHECK_THAT(found.message, Contains("the HDF5 library crashed (signal " + std::to_string(signal) + ","));
    CHECK_THAT(found.message,
               Contains("on its metadata, expected a file that HDF5 can read; is it damaged, or hostile?"));
  }
}

TEST_CASE("isolated: handlers of this process do not run in the child") {
  const auto before = std::signal(SIGSEGV, [](int) { ::_exit(0); });
  const auto helper = perhaps_a_helper();
  const Refusal found = refusal(die_of, std::to_string(SIGSEGV));
  std::signal(SIGSEGV, before);
  CHECK_THAT(found.message, Contains("crashed (signal 11"));
}

TEST_CASE("isolated: an end without a word is a crash") {
  const auto helper = perhaps_a_helper();
  CHECK_THAT(refusal([](std::string_view, int) -> std::string { ::_exit(3); }).message,
             Contains("crashed (exit status 3)"));
  CHECK(refusal([](std::string_view, int) -> std::string { ::_exit(0); }).kind == Kind::input);
}

TEST_CASE("isolated: a child that is killed from outside is no fault of the file") {
  const auto helper = perhaps_a_helper();
  CHECK(refusal(die_of, std::to_string(SIGKILL)).kind == Kind::io);
}

TEST_CASE("isolated: an endless loop ends") {
  const auto helper = perhaps_a_helper();
  IsolationLimits limits;
  limits.processor_s = 1;
  const Refusal found = refusal(
      [](std::string_view, int) -> std::string {
        for (std::atomic<unsigned> turns{0};;) ++turns;
      },
      "", limits);
  CHECK(found.kind == Kind::input);
  CHECK_THAT(found.message, Contains("takes more than 1 s of the processor"));
}

TEST_CASE("isolated: waiting for what never comes ends, though there is much time left") {
  const auto helper = perhaps_a_helper();
  IsolationLimits limits;
  limits.idle_s = 1;
  const Refusal found = refusal(wait_for_ever, "", limits);
  CHECK(found.kind == Kind::io);
  CHECK_THAT(found.message, Contains("has stood still for 1 s; does its file system answer?"));
  CHECK(done(repeat, "ab") == "abab");
}

TEST_CASE("isolated: who goes on reading, however slowly, is not idle, but ends in time") {
  const auto helper = perhaps_a_helper();
  const auto read_slowly = [](std::string_view until_s, int) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(std::stoi(std::string(until_s)));
    while (Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a read that comes back late
    }
    return std::string("read");
  };
  IsolationLimits limits;
  limits.idle_s = 1;
  CHECK(done(read_slowly, "2", limits) == "read");
  limits.clock_s = 1;
  CHECK_THAT(refusal(read_slowly, "30", limits).message, Contains("takes more than 1 s on its metadata"));
}

TEST_CASE("isolated: a child that has said all and does not end is ended") {
  const auto helper = perhaps_a_helper();
  IsolationLimits limits;
  limits.idle_s = 1;
  const auto close_and_wait = [](std::string_view, int) -> std::string {
    for (int fd = 3; fd < 64; ++fd) ::close(fd);
    for (;;) ::pause();
  };
  CHECK_THAT(refusal(close_and_wait, "", limits).message, Contains("has stood still for 1 s"));
}

TEST_CASE("isolated: memory beyond the limit is an input error") {
  const auto helper = perhaps_a_helper();
  IsolationLimits limits;
  limits.memory_bytes = 64U << 20;
  const Refusal found = refusal(
      [](std::string_view, int) -> std::string {
        // What sanitizers take their memory by: an allocation of theirs that fails would be a finding.
        if (::mmap(nullptr, 256U << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
          throw std::bad_alloc();
        return "had it";
      },
      "", limits);
  CHECK(found.kind == Kind::input);
  CHECK_THAT(found.message, Contains("wants more than 64 MiB"));
}

TEST_CASE("isolated: more words than the memory allows are not listened to") {
  const auto helper = perhaps_a_helper();
  IsolationLimits limits;
  limits.memory_bytes = 1U << 20;
  CHECK_THAT(refusal(
                 [](std::string_view, int) {
                   const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
                   ::setrlimit(RLIMIT_AS, &none);
                   return std::string(8U << 20, 'x');
                 },
                 "", limits)
                 .message,
             Contains("wants more than 1 MiB"));
}

TEST_CASE("isolated: the limits hold in the child alone") {
  const auto helper = perhaps_a_helper();
  rlimit before{};
  rlimit after{};
  getrlimit(RLIMIT_AS, &before);
  done(repeat);
  getrlimit(RLIMIT_AS, &after);
  CHECK(before.rlim_cur == after.rlim_cur);
}

TEST_CASE("isolated: how a child ended is known even where this process ignores its children") {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    const HelperProcess helper;
    CHECK_THAT(refusal(die_of, std::to_string(SIGSEGV)).message, Contains("crashed (signal 11"));
    CHECK(done(repeat, "ab") == "abab");
  }
  std::signal(SIGCHLD, before);
}

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

TEST_CASE("isolated: without a child there is no result") {
  const auto no_fork = +[]() -> pid_t {
    errno = EAGAIN;
    return -1;
  };
  CHECK_FALSE(run_child({repeat, "", -1, "HDF5", {}}, no_fork).has_value());
  const HelperProcess none(no_fork);
  CHECK(HelperProcess::current() == nullptr);
  std::thread([] { CHECK_FALSE(done(repeat).has_value()); }).join();  // this process has two threads meanwhile
}
