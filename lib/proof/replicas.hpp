#pragma once

#include "checkpoint/source_reader.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

enum class ReplicaCheck { trust, sample, full };

/// The checkpoint whose replicas are compared, and with what.
struct ReplicatedFiles {
  const Checkpoint& checkpoint;
  const Placement& placement;
  SourceReader& reader;
  Owners owners;               ///< which process reads each card's file; empty: any can
  std::vector<bool> is_taken;  ///< each parameter: whether it counts
  ReplicaCheck extent = ReplicaCheck::sample;
  unsigned threads = 1;

  /// The process that reads a card's file, of so many.
  std::uint32_t process_of(Position card, std::uint32_t processes) const {
    return owners.empty() ? static_cast<std::uint32_t>(card % processes) : owners[card];
  }
};

/// Compares what the cards that should hold the same elements do hold: every byte with ReplicaCheck::full, small
/// parameters and spread-out blocks of large ones with sample. Each replica is read once, by a process that sees it;
/// only digests travel. Throws input, naming parameter and cards, for the first that differ. Collective.
void check_replicas(const ReplicatedFiles& files, Communicator& processes);

/// The same for every parameter whose replicas differ: the error of each, in the order of the parameters.
std::vector<Error> differing_replicas(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
