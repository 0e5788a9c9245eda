#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/interrupt.hpp"
#include "base/workers.hpp"

namespace ckpt {

/// Calls `work(n)` for each n below `count` on so many threads, each n as soon as one is free; rethrows the first
/// error.
template <class Work>
void for_each_in_parallel(unsigned threads, std::uint64_t count, const Work& work) {
  if (count == 0) return;
  std::atomic<std::uint64_t> next{0};
  Workers workers(static_cast<unsigned>(std::min<std::uint64_t>(threads, count)));
  TaskGroup tasks(workers);
  for (unsigned i = 0; i < workers.count(); ++i)
    tasks.run([&] {
      try {
        for (std::uint64_t n = next++; n < count; n = next++) {
          check_interrupt();
          work(n);
        }
      } catch (...) {
        next = count;  // the others end, too
        throw;
      }
    });
  tasks.wait();
}

}  // namespace ckpt
