#pragma once

#include <atomic>
#include <chrono>

#include "exchange/traffic.hpp"

namespace ckpt {

enum class Phase : int { catalog, keys, plan, replicas, metadata, resume, move, reread, compare, publish, done };

/// The progress of a running job in this process.
struct Counters : Traffic {
  std::atomic<Phase> phase{Phase::catalog};
};

/// Measures the time between one lap and the next.
class Stopwatch {
 public:
  /// Seconds since the lap before.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace ckpt
