#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "processes/communicator.hpp"

namespace ckpt {

/// Breaks a hang: if a process that has failed is still blocked when the time is up (by a call into a driver, or
/// waiting for a process that has ended), it reports why, and ends the whole job including itself.
class Watchdog {
 public:
  Watchdog(Communicator& processes, const std::string& message, std::chrono::milliseconds limit);
  ~Watchdog();  ///< cancels it: the process is no longer blocked
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  Watchdog(Watchdog&&) = delete;
  Watchdog& operator=(Watchdog&&) = delete;

 private:
  void watch();

  Communicator& processes_;
  std::string text_;
  std::chrono::milliseconds limit_;
  bool was_interrupted_;
  std::mutex mutex_;
  std::condition_variable called_off_;
  bool is_off_ = false;
  std::thread thread_;
};

}  // namespace ckpt
