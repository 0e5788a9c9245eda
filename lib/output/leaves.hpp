#pragma once

#include <string>
#include <vector>

#include "layout/pattern.hpp"
#include "output/source_trees.hpp"

namespace ckpt {

/// What becomes of a source's leaves (Schema::leaves) in an output.
struct LeafChoice {
  std::vector<Group> as_json;     ///< texts by group, the root's path being empty: where none but these are to be seen
  std::vector<std::string> lost;  ///< the others that no tree holds: "args (argparse.Namespace)"
};

/// `trees`: which the output takes, and in which leaves are carried; a warning is added where another card's are
/// others. Generators of random numbers may differ. What matches `dropped`, or gets no new name, is not missed: it does
/// not count as lost.
LeafChoice choose_leaves(const std::vector<Saying>& sayings, const CardFiles& files, const SourceTrees& trees,
                         const std::vector<Pattern>& dropped, const NewName& new_name,
                         std::vector<std::string>& warnings);

}  // namespace ckpt
