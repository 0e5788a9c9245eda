#pragma once

#include <atomic>
#include <chrono>
#include <exception>

#include "base/trace.hpp"
#include "exchange/traffic.hpp"

namespace ckpt {

enum class Phase : int { catalog, keys, plan, replicas, metadata, resume, move, reread, compare, publish, done };

/// The progress of a running job in this process.
struct Counters : Traffic {
  std::atomic<Phase> phase{Phase::catalog};
};

/// Measures a job's phases, one after another.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  /// Records the phase in which the job fails.
  ~Stopwatch() {
    if (std::uncaught_exceptions() > exceptions_)
      trace::note_phase("unfinished", last_, std::chrono::steady_clock::now());
  }

  /// Ends a phase, which began where the one before ended. Returns its seconds, and records it for a trace.
  double end_of(const char* phase) {
    const auto now = std::chrono::steady_clock::now();
    trace::note_phase(phase, last_, now);
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  int exceptions_ = std::uncaught_exceptions();
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace ckpt
