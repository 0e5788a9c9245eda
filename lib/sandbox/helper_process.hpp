#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "io/posix_file.hpp"
#include "sandbox/child_process.hpp"

namespace ckpt {

/// A process that is forked before this one has threads or MPI, and that then forks the children for `isolated`: no
/// child inherits a lock that a thread holds. A program's main function starts it first of all, in the thread that
/// lives longest: it ends with that thread, or with this object.
class HelperProcess {
 public:
  /// If no helper can be forked, or other threads run already, there is none, and `isolated` works without it.
  explicit HelperProcess(pid_t (*fork_process)() = ::fork);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  HelperProcess(HelperProcess&&) = delete;
  HelperProcess& operator=(HelperProcess&&) = delete;

  /// Returns this process's helper, or null.
  static HelperProcess* current() noexcept;

  /// Runs all works at the same time, each by run_child in the helper. Threads may share it.
  std::vector<std::optional<ChildReport>> run(std::span<const IsolatedWork> works);

 private:
  Fd ask(const IsolatedWork& work);

  std::mutex mutex_;  // held during a request
  Fd socket_;
  pid_t id_ = -1;
};

}  // namespace ckpt
