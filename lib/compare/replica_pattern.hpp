#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// A card that should hold the same as others, and its content: equal versions stand for equal bytes.
struct CardVersion {
  Position card = 0;
  std::uint64_t version = 0;
};

/// How differing replicas are spread over the mesh.
struct ReplicaPattern {
  std::vector<Axis> axes;     ///< ascending: those whose coordinate makes a difference
  bool in_blocks = false;     ///< each version is on equally many cards, like the shards of a tensor that is cut
  bool each_differs = false;  ///< no two cards agree
  bool all_differ = false;    ///< each_differs, and along more than one axis
};

ReplicaPattern pattern_of(const Mesh& mesh, const std::vector<CardVersion>& versions);

/// Asks for a wider pattern in the entry of `indices` that counts names with the same words over one of these axes, but
/// leaves this name out: "layers.{i}.attn.*" and layers.0.norm. Empty if there is no such entry.
std::string wider_entry(const Layout& layout, const std::string& name, const std::vector<Axis>& axes);

/// Explains a difference of replicas. If cards differ in blocks, and in most elements, the layout is most likely wrong:
/// `over` names the axes (" over pp"), and the remedy is a count or a split over them. `counts`: the entries of
/// `indices` that may be missing (`missing_counts`). Taking the first copy is not a remedy if `indices` may count, for
/// a bucket's member, or for a parameter of two dimensions or more unless every card holds something else.
struct ReplicaExplanation {
  std::string over;
  std::string remedy;
  Advice advice;
};
ReplicaExplanation explain_replicas(const Placement& placement, ParameterId parameter,
                                    const std::vector<CardVersion>& versions, bool most_elements_differ,
                                    const std::vector<IndexRule>& counts);

}  // namespace ckpt
