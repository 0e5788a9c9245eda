#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ckpt {

/// A fixed number of threads that run tasks in the order in which they were added.
class Workers {
 public:
  /// Starts `count` threads, or as many as the system allows, with a warning. Throws io if it allows none.
  explicit Workers(unsigned count);
  ~Workers();  ///< finishes all tasks first
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  Workers(Workers&&) = delete;
  Workers& operator=(Workers&&) = delete;

  unsigned count() const noexcept { return static_cast<unsigned>(threads_.size()); }

 private:
  friend class TaskGroup;
  void submit(std::function<void()> task);
  void work();

  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// Tasks that are waited for together. After one has thrown, those that have not started are skipped. The workers must
/// outlive the group, whose destructor waits for the running tasks.
class TaskGroup {
 public:
  explicit TaskGroup(Workers& workers) : workers_(workers) {}
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  TaskGroup(TaskGroup&&) = delete;
  TaskGroup& operator=(TaskGroup&&) = delete;

  void run(std::function<void()> task);
  /// Waits for all tasks, at most for this time; returns whether they are done. Errors are left to `wait`.
  bool is_done_within(std::chrono::microseconds limit);
  /// Waits for all tasks; rethrows the first error, once.
  void wait();

 private:
  void perform(const std::function<void()>& task);
  void finish(std::exception_ptr error);

  Workers& workers_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t running_ = 0;
  std::exception_ptr error_;
};

}  // namespace ckpt
