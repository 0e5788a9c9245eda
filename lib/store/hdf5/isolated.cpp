#include "store/hdf5/isolated.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "store/byte_stream.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

namespace {

enum class Outcome : std::uint64_t { result, error, memory };

constexpr std::string_view what = "what a child process said";
constexpr std::uint64_t mebibyte = 1U << 20;

/// Holds all signals back while it lives: between fork and the reset of the handlers, a signal would run this process's
/// handlers in the child.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

/// A child that does not outlive the object.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (!done_) {
      ::kill(id_, SIGKILL);
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// How it ended, as waitpid says.
  int wait() {
    int status = 0;
    pid_t found = 0;
    do {
      found = ::waitpid(id_, &status, 0);
    } while (found < 0 && errno == EINTR);
    done_ = true;
    // Where SIGCHLD is ignored, nobody can tell: what has been said must be whole by itself.
    return found < 0 ? 0 : status;
  }

 private:
  pid_t id_;
  bool done_ = false;
};

std::uint64_t mapped_bytes() {
  std::array<char, 64> text{};
  const Fd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  return std::strtoull(text.data(), nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(decltype(RLIMIT_AS) resource, std::uint64_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(value, now.rlim_cur);
  ::setrlimit(resource, &now);
}

/// Nothing of what this process has arranged for signals holds in the child: a crash there is to end it, quietly.
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
  ::alarm(static_cast<unsigned>(std::min<std::uint64_t>(limits.clock_s, 1U << 30)));
}

std::string outcome_of(const std::function<std::string()>& work) {
  ByteWriter out;
  try {
    const std::string result = work();
    out.number(static_cast<std::uint64_t>(Outcome::result));
    out.text(result);
  } catch (const Error& error) {
    out.number(static_cast<std::uint64_t>(Outcome::error));
    out.number(static_cast<std::uint64_t>(error.kind()));
    out.text(error.what());
  } catch (const std::bad_alloc&) {
    out.number(static_cast<std::uint64_t>(Outcome::memory));
  } catch (const std::exception& error) {
    out.number(static_cast<std::uint64_t>(Outcome::error));
    out.number(static_cast<std::uint64_t>(Kind::input));
    out.text(error.what());
  }
  return out.take();
}

[[noreturn]] void be_the_child(int out, const IsolationLimits& limits, const std::function<std::string()>& work) {
  reset_signals();
  keep_to(limits);
  const std::string said = outcome_of(work);
  for (std::string_view rest = said; !rest.empty();) {
    const ssize_t put = ::write(out, rest.data(), rest.size());
    if (put < 0 && errno != EINTR) ::_exit(EXIT_FAILURE);
    if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  }
  ::_exit(EXIT_SUCCESS);  // neither flushes nor closes what the parent has
}

/// All that comes, up to a little more than `max_bytes`.
std::string read_all(int in, std::uint64_t max_bytes) {
  std::string all;
  std::vector<char> piece(64U << 10);
  for (;;) {
    const ssize_t got = ::read(in, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("a child process", "read", errno);
    if (got == 0 || all.size() > max_bytes) return all;
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
}

[[noreturn]] void refuse_file(const std::string& found) {
  throw Error(Kind::input, "",
              {"the HDF5 library " + found + " on its metadata", "expected a file that HDF5 can read",
               "is it damaged, or hostile?"});
}

[[noreturn]] void refuse_memory(const IsolationLimits& limits) {
  refuse_file("wants more than " + std::to_string(limits.memory_bytes / mebibyte) + " MiB");
}

void judge(int status, const IsolationLimits& limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return;
  if (!WIFSIGNALED(status)) refuse_file("crashed (exit status " + std::to_string(WEXITSTATUS(status)) + ")");
  const int number = WTERMSIG(status);
  const std::string name = "signal " + std::to_string(number) + ", " + ::strsignal(number);
  switch (number) {
    case SIGXCPU:
      refuse_file("takes more than " + std::to_string(limits.processor_s) + " s");
    case SIGALRM:
      refuse_file("takes more than " + std::to_string(limits.clock_s) + " s");
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGQUIT:
    case SIGHUP:
      check_interrupt();  // from a terminal it comes to the parent, too
      throw Error(Kind::io, "",
                  {"reading its metadata was ended from outside (" + name + ")", "",
                   "was the job cancelled or out of memory?"});
    default:
      refuse_file("crashed (" + name + ")");
  }
}

std::string result_in(std::string_view said, const IsolationLimits& limits) {
  ByteReader in(said, what);
  switch (static_cast<Outcome>(in.number())) {
    case Outcome::result: {
      std::string result = in.text();
      in.finish();
      return result;
    }
    case Outcome::error: {
      const std::uint64_t kind = in.number();
      if (kind > static_cast<std::uint64_t>(Kind::terminated)) in.fail();
      throw Error(static_cast<Kind>(kind), in.text());
    }
    case Outcome::memory:
      refuse_memory(limits);
  }
  in.fail();
}

}  // namespace

std::optional<std::string> isolated(const IsolationLimits& limits, const std::function<std::string()>& work,
                                    pid_t (*fork_process)()) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Fd in(ends[0]);
  Fd out(ends[1]);
  pid_t id = 0;
  {
    const SignalsHeld held;
    id = fork_process();
    if (id == 0) be_the_child(out.get(), limits, work);
  }
  if (id < 0) return std::nullopt;
  Child child(id);
  out.reset();
  const std::string said = read_all(in.get(), limits.memory_bytes);
  if (said.size() > limits.memory_bytes) refuse_memory(limits);
  judge(child.wait(), limits);
  return result_in(said, limits);
}

}  // namespace ckpt::hdf5
