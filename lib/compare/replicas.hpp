#pragma once

#include "checkpoint/source_reader.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

enum class ReplicaCheck { trust, sample, full };

/// The checkpoint whose replicas are compared, and the means for it.
struct ReplicatedFiles {
  const Checkpoint& checkpoint;
  const Placement& placement;
  SourceReader& reader;
  Owners owners = {};          ///< which process reads each card's file; empty: any can
  std::vector<bool> is_taken;  ///< by parameter: whether it counts
  ReplicaCheck extent = ReplicaCheck::sample;
  unsigned threads = 1;

  /// The process, of `processes`, that reads a card's file.
  std::uint32_t process_of(Position card, std::uint32_t processes) const {
    return owners.empty() ? static_cast<std::uint32_t>(card % processes) : owners[card];
  }
};

/// Compares the cards that should hold the same elements: every byte with ReplicaCheck::full, small parameters and
/// spread-out blocks of large ones with sample. One process that sees a replica reads it once; only digests travel.
/// Throws input, naming parameter and cards, for the first that differ. Collective.
void check_replicas(const ReplicatedFiles& files, Communicator& processes);

/// As check_replicas, but returns the error of every parameter whose replicas differ, in the order of the parameters.
std::vector<Error> differing_replicas(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
