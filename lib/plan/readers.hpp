#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// The process that reads each source card's file. Empty: every process sees every file.
using Owners = std::vector<std::uint32_t>;

/// Distributes items of these sizes over the processes, in blocks of consecutive items with about equal sums:
/// neighbouring cards hold neighbouring parts of the tensors, so that a process reads much of what it writes.
std::vector<std::uint32_t> in_blocks(const std::vector<std::uint64_t>& sizes, std::uint32_t processes);

/// Stands for a writer of any number: data comes from the first copy.
inline constexpr std::uint32_t any_writer = ~std::uint32_t{0};

/// Chooses for each shard the card of a replica to read it from: greedily the one whose file has the fewest bytes
/// assigned so far. A pure function of the placement, with the same result on every process.
class Readers {
 public:
  /// `replicas_are_equal`: all their bytes have been compared, so that any may serve, preferably a writer's own, or one
  /// on its host. Otherwise the choice, and so the output, depends only on the source, whatever the number of
  /// processes. `hosts`: each process's, as a number; empty: all are on one.
  Readers(const Placement& source, Owners owners, bool replicas_are_equal = false,
          std::vector<std::uint32_t> hosts = {});

  /// Returns the card to read in place of `first` (a card of the first copy) for data that process `writer` writes. A
  /// parameter with Replicas::first is read from its lowest card id.
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
  std::vector<std::uint32_t> hosts_;
  std::vector<std::vector<Choice>> choices_;  // by replicated parameter, and by `first`
  std::vector<bool> is_lowest_;               // by parameter: Replicas::first
  bool replicas_are_equal_;
};

}  // namespace ckpt
