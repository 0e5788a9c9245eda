#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Records what this process's threads did and when, for `--trace`. It records nothing before `begin`.
namespace ckpt::trace {

using Clock = std::chrono::steady_clock;
using Ns = std::int64_t;  ///< nanoseconds; moments are of Clock

struct Span {
  std::string name;
  bool is_phase = false;  ///< of the whole job, with this thread's other spans within
  Ns begin = 0;
  Ns length = 0;
};

/// One thread, or several one after another.
struct Row {
  std::vector<Span> spans;  ///< in the order of their ends; they lie within one another or apart
};

/// Starts recording. The calling thread's row is the first. When a thread has `most` spans, those that are close
/// together are joined: of each name one remains, as long as all of them, so that sums stay exact. `most`: at least
/// 16.
void begin(std::size_t most);
/// Returns what has been recorded so far, a row for each thread.
std::vector<Row> rows();

/// Records a piece of this thread's work that has just ended.
void note(const char* name, Clock::time_point begin, Clock::time_point end);
/// Records a phase of the job: not to be joined.
void note_phase(const char* name, Clock::time_point begin, Clock::time_point end);

/// Measures a piece of this thread's work, from construction to destruction: records it, and adds its nanoseconds to a
/// total. Pieces of one thread do not overlap.
class Timed {
 public:
  explicit Timed(const char* name) : name_(name) {}
  Timed(const char* name, std::atomic<std::uint64_t>& total_ns) : name_(name), total_ns_(&total_ns) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() {
    const Clock::time_point end = Clock::now();
    if (total_ns_ != nullptr) *total_ns_ += static_cast<std::uint64_t>(std::chrono::nanoseconds(end - begin_).count());
    note(name_, begin_, end);
  }

 private:
  const char* name_;  ///< stays valid until the process ends
  std::atomic<std::uint64_t>* total_ns_ = nullptr;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace ckpt::trace
