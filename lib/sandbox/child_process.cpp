#include "sandbox/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "base/wire.hpp"
#include "io/posix_file.hpp"

namespace ckpt {

namespace {

using Nanoseconds = std::chrono::nanoseconds;
using Seconds = std::chrono::seconds;

/// How often to check on a silent child.
constexpr std::chrono::milliseconds tick(50);

/// A child process that is killed, at the latest, with the object.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (done_) return;
    ::kill(id_, SIGKILL);
    wait(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t id() const noexcept { return id_; }

  /// Returns the child's status from waitpid, if it has ended.
  std::optional<int> ended() { return wait(WNOHANG); }

 private:
  std::optional<int> wait(int flags) {
    int status = 0;
    const pid_t found = retried([&] { return ::waitpid(id_, &status, flags); });
    if (found == 0) return std::nullopt;
    done_ = true;
    // If SIGCHLD is ignored, there is no status: the child's output alone must show whether it is complete.
    return found < 0 ? 0 : status;
  }

  pid_t id_;
  bool done_ = false;
};

/// Measures whether a child has exceeded its limits. Its processor time shows its progress, since every system call
/// that returns adds to it.
class ChildMonitor {
 public:
  ChildMonitor(pid_t child, const IsolationLimits& limits)
      : limits_(limits), thread_("/proc/" + std::to_string(child) + "/schedstat") {
    if (::clock_getcpuclockid(child, &clock_) != 0) clock_ = CLOCK_MONOTONIC;  // never seems idle
  }

  std::optional<ChildReport::End> is_over() {
    const auto now = std::chrono::steady_clock::now();
    // Excludes the time in which this process was stopped (Ctrl-Z) or the machine was asleep: so was the child.
    const Nanoseconds step = std::min<Nanoseconds>(now - last_, 2 * tick);
    last_ = now;
    in_all_ += step;
    const Nanoseconds used = processor_time();
    idle_ = used == used_ ? idle_ + step : Nanoseconds(0);
    used_ = used;
    if (idle_ > Seconds(limits_.idle_s)) return ChildReport::End::idle;
    if (in_all_ > Seconds(limits_.clock_s)) return ChildReport::End::too_slow;
    return std::nullopt;
  }

 private:
  /// Measures the working thread: with a sanitizer the process may have another thread, whose time would count, too.
  Nanoseconds processor_time() const {
    std::int64_t of_thread = 0;
    if (std::ifstream(thread_) >> of_thread && of_thread > 0) return Nanoseconds(of_thread);
    timespec time{};
    if (::clock_gettime(clock_, &time) != 0) return used_;
    return Seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  }

  IsolationLimits limits_;
  std::string thread_;
  clockid_t clock_{};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  Nanoseconds in_all_{0};
  Nanoseconds idle_{0};
  Nanoseconds used_{0};
};

void limit(decltype(RLIMIT_AS) resource, std::uint64_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(value, now.rlim_cur);
  ::setrlimit(resource, &now);
}

/// Resets everything that the parent has set up for signals: a crash should just end the child.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void keep_to(const IsolationLimits& limits) {
  ::prctl(PR_SET_DUMPABLE, 0);  // no core files
  if (const std::uint64_t mapped = mapped_bytes(); mapped != 0)
    limit(RLIMIT_AS, std::min(limits.memory_bytes, UINT64_MAX - mapped) + mapped);
  limit(RLIMIT_CPU, limits.processor_s);
}

/// Returns a packed Outcome; packing a large result may exceed the memory, too.
std::string outcome_of(const IsolatedWork& work) {
  try {
    return wire::packed(Outcome{work.run(work.argument, work.fd), std::nullopt});
  } catch (const Error& error) {
    return wire::packed(Outcome{"", error});
  } catch (const std::bad_alloc&) {
    return wire::packed(Outcome{"", std::nullopt, true});
  } catch (const std::exception& error) {
    return wire::packed(Outcome{"", Error(Kind::input, error.what())});
  }
}

[[noreturn]] void run_as_child(int out, const IsolatedWork& work) {
  reset_signals();
  keep_to(work.limits);
  const std::string said = outcome_of(work);
  for (std::string_view rest = said; !rest.empty();) {
    const ssize_t put = retried([&] { return ::write(out, rest.data(), rest.size()); });
    if (put < 0) ::_exit(EXIT_FAILURE);
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  ::_exit(EXIT_SUCCESS);  // neither flushes nor closes anything of the parent
}

/// Reads the child's output for up to a tick; returns false at its end.
bool listen(int in, std::vector<char>& piece, std::string& said) {
  pollfd ready{in, POLLIN, 0};
  if (retried([&] { return ::poll(&ready, 1, static_cast<int>(tick.count())); }) == 0) return true;
  const ssize_t got = retried([&] { return ::read(in, piece.data(), piece.size()); });
  if (got < 0) throw system_error("a child process", "read", errno);
  said.append(piece.data(), static_cast<std::size_t>(got));
  return got > 0;
}

ChildReport watch(Child& child, int in, const IsolationLimits& limits) {
  ChildReport report;
  ChildMonitor patience(child.id(), limits);
  std::vector<char> piece(64U << 10);
  std::chrono::microseconds nap(100);
  for (bool is_speaking = true;;) {
    if (is_speaking) {
      is_speaking = listen(in, piece, report.said);
    } else {
      if (const auto status = child.ended()) return report.status = *status, report;
      std::this_thread::sleep_for(nap);  // it is exiting: usually soon, late on a busy machine
      nap = std::min<std::chrono::microseconds>(2 * nap, tick);
    }
    if (report.said.size() > limits.memory_bytes) return {ChildReport::End::said_too_much, 0, {}};
    if (const auto end = patience.is_over()) return {*end, 0, {}};
  }
}

}  // namespace

SignalsHeld::SignalsHeld() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsHeld::~SignalsHeld() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);
}

std::optional<ChildReport> run_child(const IsolatedWork& work, const std::function<pid_t()>& fork_process) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  Fd in(ends[0]);
  Fd out(ends[1]);
  const pid_t parent = ::getpid();
  pid_t id = 0;
  {
    const SignalsHeld held;
    id = fork_process();
    if (id == 0) {
      end_with(parent);
      in.reset();
      run_as_child(out.get(), work);
    }
  }
  if (id < 0) return std::nullopt;
  Child child(id);
  out.reset();
  return watch(child, in.get(), work.limits);
}

}  // namespace ckpt
