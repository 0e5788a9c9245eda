#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "jobs/types/reshard_job.hpp"

namespace ckpt::cli {

enum class ProgressStyle { none, lines, bar };

/// Parses "auto" (or nothing), "bar", "lines", "none". Throws usage.
ProgressStyle parse_progress(const std::string& text, bool is_terminal);

/// A running job at one moment.
struct Moment {
  Phase phase = Phase::catalog;
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_written = 0;
  double rate = 0;  ///< bytes written per second, lately
};

/// "moving: 1.2 GiB of 2.6 GiB (45 %), 1.1 GiB/s, 12 s left"; only the phase if there is nothing to count.
std::string progress_line(const Moment& moment);

/// progress_line with a bar before it, no longer than `columns` characters.
std::string progress_bar(const Moment& moment, std::size_t columns);

/// "12 s", "3:05 min", "1:02:03 h".
std::string format_duration(double seconds);

/// Shows a job's counters on standard error while it exists, from its own thread, and removes the bar at the end.
class Progress {
 public:
  Progress(const Counters& counters, ProgressStyle style);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

 private:
  void watch();
  void show(const Moment& moment);

  const Counters& counters_;
  const ProgressStyle style_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ckpt::cli
