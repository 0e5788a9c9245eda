#include "sandbox/isolated.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "unit/sandbox/isolated_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

int value_here = 1;

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
    throw Error(Kind::layout, "a.h5", {"stored [2]", "[3]", "save it again"});
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
    CHECK_THAT(found.message, Contains("reading its HDF5 metadata crashed (signal " + std::to_string(signal) + ","));
    CHECK_THAT(found.message, Contains("expected a sound file of this format; is it damaged, or hostile?"));
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
  CHECK_THAT(refusal(read_slowly, "30", limits).message, Contains("reading its HDF5 metadata takes more than 1 s"));
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
  CHECK_THAT(found.message, Contains("takes more than 64 MiB"));
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
             Contains("takes more than 1 MiB"));
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
