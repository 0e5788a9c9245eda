#pragma once

#include <atomic>
#include <cstdint>

namespace ckpt {

/// The bytes that a process has moved so far; a job's threads write them, and the progress display reads them.
struct Traffic {
  std::atomic<std::uint64_t> bytes_total{0};  ///< to be written, or compared
  std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> bytes_exchanged{0};  ///< sent to other processes
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> bytes_cloned{0};  ///< of those written: blocks that the output shares with its source
};

}  // namespace ckpt
