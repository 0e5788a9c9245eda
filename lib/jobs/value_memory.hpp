#pragma once

#include <algorithm>
#include <cstdint>

#include "jobs/types/resources.hpp"

namespace ckpt {

/// How much of a job's memory catalogs' values of variable length may take, in all files together: an eighth, since up
/// to seven copies of one exist while it is read, sent and written again; but no less than a harmless amount.
inline std::uint64_t value_memory(const Resources& resources) noexcept {
  constexpr std::uint64_t harmless = 8ULL << 20;
  return std::max(resources.memory_bytes / 8, harmless);
}

}  // namespace ckpt
