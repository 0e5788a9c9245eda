#pragma once

#include <cstdint>
#include <span>

#include "plan/planner.hpp"
#include "plan/write_shares.hpp"

namespace ckpt {

/// Returns how many of these processes read a block of the source's stored arrays, in the mean of the blocks that they
/// read at all: 1 if each block is read by one of them. By a sample of the target's arrays, and of their elements. 1 if
/// they read nothing; all of them if the sample has too many pieces to tell.
double readers_of_block(const Planner& planner, const WriteShares& shares, std::span<const std::uint32_t> processes,
                        std::uint64_t block_bytes);

}  // namespace ckpt
