#pragma once

#include <string>
#include <vector>

#include "compare/replica_digests.hpp"
#include "compare/replica_pattern.hpp"

namespace ckpt {

/// The cards that disagree with most others. The commonest sum counts as right, so that messages name the one odd card
/// rather than the others.
struct Disagreement {
  explicit Disagreement(const ShardCopies& copies);

  ParameterId parameter;
  std::vector<Position> odd;
  std::vector<Position> right;
  std::vector<CardVersion> versions;  ///< of all cards
};

/// The elements of a parameter in which two cards differ.
struct DifferingElements {
  std::string text;  ///< "3 of 64 elements that were compared, first at [0, 5]: 0.5 on card 3, 0.25 on card 0"
  bool are_most = false;
};

/// Compares the first odd card with the first right one, element by element. Empty for a parameter whose elements have
/// no fixed size. Collective; the same on every process.
DifferingElements differing_elements(const ReplicatedFiles& files, const Disagreement& between,
                                     Communicator& processes);

}  // namespace ckpt
