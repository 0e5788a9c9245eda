#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "jobs/types/reshard_job.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

enum class ProgressStyle { none, lines, bar };

/// Parses "auto" (or nothing), "bar", "lines", "none". Throws usage.
ProgressStyle parse_progress(const std::string& text, bool is_terminal);

/// A running job at one moment.
struct Moment {
  Phase phase = Phase::catalog;
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_written = 0;
  double rate = 0;  ///< bytes written per second, lately; 0 while nothing moves
};

/// The rate of a growing count, averaged over a few seconds; 0 once it has stood still for as long.
class Rate {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Rate(Clock::time_point now = Clock::now()) : time_(now), moved_(now) {}
  double update(std::uint64_t bytes, Clock::time_point now);

 private:
  double rate_ = 0;
  std::uint64_t bytes_ = 0;
  Clock::time_point time_;
  Clock::time_point moved_;
};

/// "moving: 1.2 GiB of 2.6 GiB (45 %), 1.1 GiB/s, 12 s left"; only the phase if there is nothing to count.
std::string progress_line(const Moment& moment);

/// progress_line with a bar before it, no longer than `columns` characters.
std::string progress_bar(const Moment& moment, std::size_t columns);

/// "12 s", "3:05 min", "1:02:03 h".
std::string format_duration(double seconds);

/// Shows a job's counters, the bytes of all processes, on standard error while it exists, from its own thread, and
/// removes the bar at the end. Every process has one.
class Progress {
 public:
  Progress(const Counters& counters, ProgressStyle style, Communicator& processes);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

 private:
  void watch();
  void show(const Moment& moment);

  const Counters& counters_;
  Communicator& processes_;
  const ProgressStyle style_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ckpt::cli
