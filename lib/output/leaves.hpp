#pragma once

#include <string>
#include <vector>

#include "layout/names/pattern.hpp"
#include "output/source_trees.hpp"

namespace ckpt {

/// What becomes of a source's leaves (Schema::leaves) in an output.
struct LeafChoice {
  std::vector<Group> as_json;     ///< texts by group (the root's path is empty), if nothing else is to show them
  std::vector<std::string> lost;  ///< others that no tree holds: "args (argparse.Namespace)"
};

/// `trees`: the trees that the output takes, which carry leaves; adds a warning if another card has different ones.
/// States of random generators may differ. Leaves that match `dropped`, or get no new name, do not count as lost.
LeafChoice choose_leaves(const std::vector<Saying>& sayings, const CardFiles& files, const SourceTrees& trees,
                         const std::vector<Pattern>& dropped, const NewName& new_name,
                         std::vector<std::string>& warnings);

}  // namespace ckpt
