#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Which process reads each source card's file. Empty: every process sees every file.
using Owners = std::vector<std::uint32_t>;

/// Distributes items of these sizes over the processes, in blocks of consecutive ones with about equal sums:
/// neighbouring cards hold neighbouring parts of the tensors, so that what a process reads is much of what it writes.
std::vector<std::uint32_t> in_blocks(const std::vector<std::uint64_t>& sizes, std::uint32_t processes);

/// Which of its replicas' cards each shard is read from: greedily the one whose file has the fewest bytes assigned so
/// far. A pure function of the placement, the same on every process.
class Readers {
 public:
  /// `replicas_are_equal`: they have been compared to the last byte, so that any may serve: a writer's own first.
  /// Otherwise the choice depends on the source alone, and the output on nothing else, whatever the number of
  /// processes.
  Readers(const Placement& source, Owners owners, bool replicas_are_equal = false);

  /// The card to read in place of `first` (a card of the first copy) for what process `writer` writes. A parameter with
  /// Replicas::first is read from its lowest card id.
  Position choose(ParameterId parameter, Position first, std::uint32_t writer) const;

  std::uint32_t owner(Position card) const noexcept { return owners_.empty() ? 0 : owners_[card]; }
  bool is_shared() const noexcept { return owners_.empty(); }

 private:
  struct Choice {
    Position first;
    Position chosen;
  };
  const Placement& source_;
  Owners owners_;
  std::vector<std::vector<Choice>> choices_;  // for each replicated parameter, by first
  std::vector<bool> is_lowest_;               // for each parameter: Replicas::first
  bool replicas_are_equal_;
};

}  // namespace ckpt
