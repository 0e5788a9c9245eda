#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "processes/communicator.hpp"

namespace ckpt {

/// Breaks a hang: a process that has failed, and is still held when the time is up (by a call into a driver, or waiting
/// for a process that has ended), says why and ends the whole job, itself too.
class Watchdog {
 public:
  Watchdog(Communicator& processes, const std::string& message, std::chrono::milliseconds limit);
  ~Watchdog();  ///< all is well
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  Watchdog(Watchdog&&) = delete;
  Watchdog& operator=(Watchdog&&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable called_off_;
  bool is_off_ = false;
  std::thread thread_;
};

}  // namespace ckpt
