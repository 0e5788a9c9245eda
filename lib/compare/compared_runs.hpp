#pragma once

#include <cstdint>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// The most bytes that are compared at once.
inline constexpr std::uint64_t compared_block_bytes = 256ULL << 10;

/// The stored runs of a card's part of a parameter that are compared: all of it in blocks, or spread-out samples.
/// `element_bytes`: the larger size if two dtypes are compared; a block has at most `most_bytes`.
std::vector<Interval> compared_runs(const Placement& placement, ParameterId parameter, Position card, bool is_full,
                                    std::uint64_t element_bytes, std::uint64_t most_bytes = compared_block_bytes);

}  // namespace ckpt
