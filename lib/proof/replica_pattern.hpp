#pragma once

#include <cstdint>
#include <string>
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
  std::vector<Axis> axes;     ///< ascending: those whose coordinate makes a difference
  bool in_blocks = false;     ///< each version is on equally many cards, as the shards of a tensor that is cut would be
  bool each_differs = false;  ///< no two cards agree
  bool all_differ = false;    ///< and that along more than one axis
};

ReplicaPattern pattern_of(const Mesh& mesh, const std::vector<CardVersion>& versions);

/// Asks for a wider pattern in the entry of `indices` that counts names with the same words over one of these axes, and
/// leaves this name out: "layers.{i}.attn.*" and layers.0.norm. Empty where there is none.
std::string wider_entry(const Layout& layout, const std::string& name, const std::vector<Axis>& axes);

/// What a difference of replicas suggests. Where cards differ in blocks, and in most elements, the layout is most
/// likely wrong: `over` names the axes (" over pp"), and the remedy is a count or a split over them. `counts`: the
/// entries of `indices` that may be missing (`missing_counts`). To take the first copy is no remedy where `indices` may
/// count, for a bucket's member, nor for a parameter of two dimensions or more unless every card holds something else.
struct ReplicaExplanation {
  std::string over;
  std::string remedy;
  Advice advice;
};
ReplicaExplanation explain_replicas(const Placement& placement, ParameterId parameter,
                                    const std::vector<CardVersion>& versions, bool most_elements_differ,
                                    const std::vector<IndexRule>& counts);

}  // namespace ckpt
