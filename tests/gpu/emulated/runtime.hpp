#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gpu/emulated/plan.hpp"

// What all parts of the emulated GPU share.
namespace emulated {

/// Ends the process at once: a program that misuses CUDA or NCCL has no result that a test could pass over.
[[noreturn]] void misuse(const std::string& what);

/// The state of the device that a process uses. Whoever reads or changes anything of the emulated GPU holds the mutex,
/// and whoever waits for a change waits for `changed`.
struct Runtime {
  std::mutex mutex;
  std::condition_variable changed;
  Plan plan;
  std::mt19937_64 engine;
  std::map<std::string, int> calls;  ///< how often each function was called
  bool has_fired = false;            ///< a planned fault has taken place
  std::thread::id user;              ///< the one thread that makes calls
  cudaError_t last = cudaSuccess;    ///< what cudaGetLastError will give
  cudaError_t broken = cudaSuccess;  ///< an error that no later call recovers from
  unsigned lagging = 0;              ///< the stream that is far behind the others
  unsigned streams_made = 0;
  std::uint64_t queries = 0;      ///< of events that were not reached
  bool is_synchronizing = false;  ///< the program waits for all work

  std::uint64_t below(std::uint64_t n) { return engine() % n; }
  bool is_broken() const { return broken != cudaSuccess; }
};
Runtime& runtime();

/// One call of a function by the program: it holds the mutex, counts, and carries out the plan.
class Call {
 public:
  explicit Call(const char* function);

  /// What the call answers instead of doing anything: the error of a device that is broken already, or the planned one.
  std::optional<cudaError_t> refusal(cudaError_t planned);
  std::optional<ncclResult_t> refusal(ncclResult_t planned);
  /// Whether the plan lets the work that this call begins never end.
  bool hangs() const { return act_ == Fault::hang; }
  bool is_forgotten(Plant plant) const { return runtime().plan.plant == plant; }

  std::unique_lock<std::mutex>& lock() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
  Fault act_ = Fault::none;
};

/// Gives the error back, and keeps it for cudaGetLastError. Some errors are the end of a device's work.
cudaError_t answer(cudaError_t status);

/// Up to so many microseconds, at random.
void sleep_up_to(std::mt19937_64& engine, unsigned microseconds);

}  // namespace emulated
