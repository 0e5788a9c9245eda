#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "store/child_process.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

/// A process that is forked while this one has neither threads nor MPI, and that forks children for `isolated` from
/// then on: whatever locks the threads hold later, no child finds one of them held. A program's main function starts
/// it, first of all, in the thread that lives longest: it ends with that thread, or with this object.
class HelperProcess {
 public:
  /// Where no helper can be forked, or other threads run already, there is none, and `isolated` does without.
  explicit HelperProcess(pid_t (*fork_process)() = ::fork);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  HelperProcess(HelperProcess&&) = delete;
  HelperProcess& operator=(HelperProcess&&) = delete;

  /// This process's, or none.
  static HelperProcess* current() noexcept;

  /// run_child in the helper, for all works at the same time. Threads may share it.
  std::vector<std::optional<ChildReport>> run(std::span<const IsolatedWork> works);

 private:
  Fd ask(const IsolatedWork& work);

  std::mutex mutex_;  // around a request
  Fd socket_;
  pid_t id_ = -1;
};

}  // namespace ckpt
