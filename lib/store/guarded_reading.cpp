#include "store/guarded_reading.hpp"

#include <algorithm>
#include <atomic>

#include "base/checked.hpp"
#include "base/log.hpp"

namespace ckpt {

namespace {

/// Limits for a large file whose share of metadata is not known in advance.
constexpr std::uint64_t most_memory_bytes = std::uint64_t{48} << 30U;
constexpr std::uint64_t most_processor_s = 600;

}  // namespace

void warn_of_unguarded_reading() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    log::warn("no child process to be had to read metadata in: a damaged file may crash this one");
}

IsolationLimits limits_for(std::uint64_t metadata_bytes, std::uint64_t memory_per_byte, std::uint64_t bytes_per_s) {
  IsolationLimits limits;
  limits.memory_bytes += std::min(most_memory_bytes, checked_mul(metadata_bytes, memory_per_byte));
  limits.processor_s += std::min(most_processor_s, metadata_bytes / bytes_per_s);
  limits.clock_s += limits.processor_s;
  return limits;
}

}  // namespace ckpt
