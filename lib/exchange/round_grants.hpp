#pragma once

#include <cstdint>
#include <vector>

namespace ckpt {

/// A writer's wishes to a reader for the next round.
struct RoundWish {
  bool has_more = false;    ///< the writer has chunks left, from any reader
  std::uint64_t least = 0;  ///< bytes from this reader for its next chunk
  std::uint64_t most = 0;   ///< bytes from this reader for all chunks that fit into its own memory
};

/// Returns how many bytes a reader grants each writer in a round, by rank, so that together they fit into `part_bytes`.
/// First, as many writers as possible get the bytes for their next chunk; then these share the rest in proportion to
/// what they would like. The order rotates: every reader serves the writer whose rank is `round` modulo their number,
/// even beyond `part_bytes`, so that each makes progress. A pure function.
std::vector<std::uint64_t> grant_round(std::uint64_t part_bytes, std::uint64_t round,
                                       const std::vector<RoundWish>& wishes);

}  // namespace ckpt
