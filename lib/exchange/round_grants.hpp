#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

namespace ckpt {

/// What a writer would like of a reader in the next round.
struct RoundWish {
  bool has_more = false;    ///< the writer has chunks left, of whomever
  std::uint64_t least = 0;  ///< bytes: what its next chunk takes of this reader
  std::uint64_t most = 0;   ///< what all that would fit into its own memory takes

  static auto fields(auto& self) { return std::tie(self.has_more, self.least, self.most); }
};

/// How many bytes a reader grants each writer in a round, by rank, so that all together fit into `part_bytes`: first as
/// many as it can serve have what their next chunk takes, then these share the rest by what they would like. Which
/// come first goes round: the writer whose rank is `round` modulo their number is served by every reader, even beyond
/// `part_bytes`, so that each gets on. A pure function.
std::vector<std::uint64_t> grant_round(std::uint64_t part_bytes, std::uint64_t round,
                                       const std::vector<RoundWish>& wishes);

}  // namespace ckpt
