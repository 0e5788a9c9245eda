#include "base/workers.hpp"

#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace ckpt {

Workers::Workers(unsigned count) {
  threads_.reserve(count);
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { work(); });
  } catch (const std::exception& error) {  // from the system, or for lack of memory
    if (threads_.empty())
      throw Error(Kind::io, "threads",
                  {"none can be started (" + std::string(error.what()) + ")", "one at least",
                   "raise the limits on processes and memory (ulimit -u, ulimit -v)"});
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
      log::warn("of {} threads only {} can be started ({}): going on with these", count, threads_.size(), error.what());
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  given_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Workers::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  given_.notify_one();
}

void Workers::work() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      given_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

TaskGroup::~TaskGroup() {
  std::unique_lock lock(mutex_);
  if (!error_) error_ = std::make_exception_ptr(0);  // nobody waits for results any more: skip what has not started
  done_.wait(lock, [this] { return running_ == 0; });
}

void TaskGroup::run(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  try {
    workers_.submit([this, task = std::move(task)] { perform(task); });
  } catch (...) {
    finish(nullptr);  // there was no memory to queue it, so that nobody will run it
    throw;
  }
}

void TaskGroup::perform(const std::function<void()>& task) {
  std::exception_ptr error;
  try {
    bool skip = false;
    {
      const std::lock_guard lock(mutex_);
      skip = error_ != nullptr;
    }
    if (!skip) task();
  } catch (...) {
    error = std::current_exception();
  }
  finish(std::move(error));
}

void TaskGroup::finish(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (error && !error_) error_ = std::move(error);
  if (--running_ == 0) done_.notify_all();
}

bool TaskGroup::is_done_within(std::chrono::microseconds limit) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, limit, [this] { return running_ == 0; });
}

void TaskGroup::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace ckpt
