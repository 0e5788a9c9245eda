#pragma once

#include <set>
#include <string>
#include <vector>

#include "output/sayings.hpp"

namespace ckpt {

/// What becomes of a source's leaves (Schema::leaves) in an output.
struct LeafChoice {
  std::vector<Group>
      as_json;  ///< texts by group, the root's path being empty: where no file of the output takes a tree
  std::vector<std::string> lost;  ///< the others that no tree holds: "args (argparse.Namespace)"
};

/// `trees`: the schemas of the files whose trees the output takes, in which leaves are carried; a warning is added
/// where another card's are others. Generators of random numbers may differ.
LeafChoice choose_leaves(const std::vector<Saying>& sayings, const CardFiles& files,
                         const std::set<const Schema*>& trees, std::vector<std::string>& warnings);

}  // namespace ckpt
