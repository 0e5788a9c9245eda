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

/// What a child process may use.
struct IsolationLimits {
  std::uint64_t memory_bytes = 1U << 30;  ///< beyond what its parent has mapped already
  std::uint64_t processor_s = 10;
  /// On the clock, without any use of the processor: not one system call that came back. It waits for what never comes,
  /// or for a file system that is gone.
  std::uint64_t idle_s = 30;
  std::uint64_t clock_s = 600;  ///< in all, far above the rest: slow file systems must have their time
};

/// Work for a child process: a function of what can be handed to another process.
struct IsolatedWork {
  /// May throw anything. Shares nothing with the caller but the open file; must neither log nor use MPI.
  std::string (*run)(std::string_view argument, int fd);
  std::string argument;
  int fd = -1;         ///< an open file, or none
  std::string format;  ///< of what it reads, for messages
  IsolationLimits limits;
};

/// How a child ended.
struct ChildReport {
  enum class End : std::uint64_t { by_itself, said_too_much, idle, too_slow };
  End end = End::by_itself;
  int status = 0;    ///< as waitpid says, where it ended by itself
  std::string said;  ///< what `outcome_in` reads
};

/// Runs the work in a forked child, watches it, and ends it where it goes beyond its limits. Nothing where there can be
/// no child. The calling process must have one thread only.
std::optional<ChildReport> run_child(const IsolatedWork& work, const std::function<pid_t()>& fork_process = ::fork);

/// The result of the work in a child, or its error.
struct Outcome {
  enum class What : std::uint64_t { result, error, memory };
  What what = What::result;
  std::string result;
  std::optional<Error> error;
};
/// Reads what a child said; throws input where it is damaged.
Outcome outcome_in(std::string_view said);

/// Blocks all signals while it lives: between fork and the reset of the handlers, a signal would run this process's
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

/// From now on this process ends with its parent, or at once where that has ended already.
void end_with(pid_t parent);

}  // namespace ckpt
