#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// A card that should hold the same as others, and what it holds: equal numbers stand for equal bytes.
struct CardVersion {
  Position card = 0;
  std::uint64_t version = 0;
};

/// How replicas that differ are spread over the mesh.
struct ReplicaPattern {
  std::vector<Axis> axes;   ///< ascending: those whose coordinate makes a difference
  bool in_blocks = false;   ///< each version is on equally many cards, as the shards of a tensor that is cut would be
  bool all_differ = false;  ///< no two cards agree, and that along more than one axis
};

ReplicaPattern pattern_of(const Mesh& mesh, const std::vector<CardVersion>& versions);

/// What a difference of replicas suggests. Where cards differ in blocks, and in most elements, the layout is most
/// likely wrong: `over` names the axes (" over pp"), and the remedy is a split or a count over them. To take the first
/// copy is no remedy for a parameter of two dimensions or more, unless every card holds something else. `counts`: the
/// entries of `indices` that may be missing (`missing_counts`).
struct ReplicaExplanation {
  std::string over;
  std::string remedy;
  Advice advice;
};
ReplicaExplanation explain_replicas(const Placement& placement, ParameterId parameter,
                                    const std::vector<CardVersion>& versions, bool most_elements_differ,
                                    const std::vector<IndexRule>& counts);

}  // namespace ckpt
