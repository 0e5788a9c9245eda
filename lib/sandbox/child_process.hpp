#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ckpt {

/// The resources that a child process may use.
struct IsolationLimits {
  std::uint64_t memory_bytes = 1U << 30;  ///< in addition to what its parent has mapped already
  std::uint64_t processor_s = 10;
  /// Wall-clock time without any processor time, so without one system call that returned: the child waits for
  /// something that never comes, or for a file system that is gone.
  std::uint64_t idle_s = 30;
  std::uint64_t clock_s = 600;  ///< wall-clock time in all, far above the other limits: slow file systems need it
};

/// Work for a child process: a function of data that can be sent to another process.
struct IsolatedWork {
  /// May throw anything. Shares nothing with the caller except the open file; must neither log nor use MPI.
  std::string (*run)(std::string_view argument, int fd);
  std::string argument;
  int fd = -1;         ///< an open file, or none
  std::string format;  ///< format of the file that it reads, for messages
  IsolationLimits limits;
};

/// How a child ended.
struct ChildReport {
  enum class End : std::uint8_t { by_itself, said_too_much, idle, too_slow };
  friend constexpr End last_of(End) { return End::too_slow; }
  End end = End::by_itself;
  int status = 0;    ///< the status from waitpid, if the child ended by itself
  std::string said;  ///< the child's output, a packed Outcome
};

/// Runs the work in a forked child, watches it, and kills it if it exceeds its limits. Returns nothing if no child can
/// be forked. The calling process must be single-threaded.
std::optional<ChildReport> run_child(const IsolatedWork& work, const std::function<pid_t()>& fork_process = ::fork);

/// The result of the work in a child, or its error.
struct Outcome {
  std::string result;
  std::optional<Error> error;
  bool has_exceeded_memory = false;
};

/// Blocks all signals while it lives: a signal between fork and the reset of the handlers would run this process's
/// handlers in the child.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

/// Makes this process end when its parent ends, or at once if the parent has ended already.
void end_with(pid_t parent);

}  // namespace ckpt
