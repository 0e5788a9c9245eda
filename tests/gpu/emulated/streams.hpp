#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gpu/emulated/memory.hpp"

/// A queue that a thread of its own works off: late, and out of step with the others.
struct CUstream_st {
  struct Work {
    const char* what = "";
    std::vector<emulated::Range> uses;
    /// Done without the mutex. Work that waits does so by CUstream_st::wait, and leaves when that is false.
    std::function<void(CUstream_st&)> run;
    /// Done with the mutex, in the moment in which the work is over.
    std::function<void()> end;
  };

  explicit CUstream_st(unsigned number_, std::uint64_t seed) : number(number_), engine(seed) {}

  /// With the mutex held: waits for the condition. False when the stream or the device has come to its end before.
  bool wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_met);

  const unsigned number;
  std::mt19937_64 engine;  ///< the thread's own
  std::deque<Work> queue;  ///< the first one is under way
  bool is_ending = false;
  std::thread thread;
};

/// A point in a stream: `is_reached` is shared with the work that was recorded.
struct CUevent_st {
  std::shared_ptr<bool> is_reached = std::make_shared<bool>(true);
};

// All of this is called with the runtime's mutex held, but for discard_streams.
namespace emulated {

cudaStream_t make_stream();
/// Waits for its thread: the mutex is released meanwhile.
void end_stream(cudaStream_t stream, std::unique_lock<std::mutex>& lock);
void expect_stream(cudaStream_t stream, const char* what);
/// After work that never ends nothing in the stream is done.
void put(cudaStream_t stream, CUstream_st::Work work);
void put_hanging(cudaStream_t stream);
bool are_all_idle();

cudaEvent_t make_event();
void end_event(cudaEvent_t event);
void expect_event(cudaEvent_t event, const char* what);

/// A misuse where work that is not done uses the range.
void expect_unused(const Range& range, const char* what);

std::string streams_left();
void discard_streams();

}  // namespace emulated
