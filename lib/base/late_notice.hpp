#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ckpt {

/// Calls `say` unless it is destroyed before `patience` has passed, and calls `look` repeatedly until its end, in a
/// thread of its own: for calls that may wait for ever. Time in which the process is suspended does not count. Calls
/// neither if the system has no thread left: a destructor that waits needs no other way.
class LateNotice {
 public:
  LateNotice(
      std::chrono::milliseconds patience, std::function<void()> say, std::function<void()> look = [] {}) noexcept;
  LateNotice(const LateNotice&) = delete;
  LateNotice& operator=(const LateNotice&) = delete;
  LateNotice(LateNotice&&) = delete;
  LateNotice& operator=(LateNotice&&) = delete;
  ~LateNotice();

 private:
  void run(std::chrono::milliseconds left, const std::function<void()>& say, const std::function<void()>& look);

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread watch_;
};

}  // namespace ckpt
