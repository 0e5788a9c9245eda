#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "base/interrupt.hpp"
#include "base/workers.hpp"

namespace ckpt {

/// Calls `work(own, n)` for each n below `count` on `threads` threads, each n as soon as a thread is free; `own` is the
/// thread's result of `make()`. Rethrows the error of the lowest n that fails, independently of the threads: every
/// lower n was started before it, and is completed.
template <class Make, class Work>
void for_each_in_parallel(unsigned threads, std::uint64_t count, const Make& make, const Work& work) {
  if (count == 0) return;
  std::atomic<std::uint64_t> next{0};
  std::mutex failing;  // guards the variables below
  std::uint64_t failed = count;
  std::exception_ptr error;
  const auto take_turns = [&] {
    auto own = make();
    for (std::uint64_t n = next++; n < count; n = next++) {
      try {
        check_interrupt();
        work(own, n);
      } catch (...) {
        next = count;  // makes the other threads end, too
        const std::lock_guard lock(failing);
        if (n < failed) error = std::current_exception();
        failed = std::min(failed, n);
      }
    }
  };
  if (const auto used = static_cast<unsigned>(std::min<std::uint64_t>(threads, count)); used == 1) {
    take_turns();  // in the caller's own heap
  } else {
    Workers workers(used);
    TaskGroup tasks(workers);
    for (unsigned i = 0; i < workers.count(); ++i) tasks.run(take_turns);
    tasks.wait();
  }
  if (error) std::rethrow_exception(error);
}

/// Calls `work(n)` on threads without state of their own; errors as above.
template <class Work>
void for_each_in_parallel(unsigned threads, std::uint64_t count, const Work& work) {
  for_each_in_parallel(
      threads, count, [] { return 0; }, [&work](int, std::uint64_t n) { work(n); });
}

}  // namespace ckpt
