#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/selection.hpp"

/// Names of DCP directories and torch files: the one's are dotted, the other's are paths in dicts (Schema::tree_names).
namespace ckpt {

/// The names of a selection as a tree of dicts has them; of those that were given others than the source has, what they
/// keep of the end of their paths, below one key (renamed_path). Nothing where they are none but its own.
std::optional<std::vector<std::string>> names_in_tree(const Checkpoint& checkpoint, const Placement& source,
                                                      const Selection& selection);

/// Finds what a checkpoint, A, calls by its own names or by those of a tree in another one, B.
class NamesInOther {
 public:
  /// All must outlive it.
  NamesInOther(const Checkpoint& a, const Checkpoint& b, const Placement& placement_of_b);

  std::optional<ParameterId> find(const std::string& name) const;

 private:
  const Placement& b_;
  const std::map<std::string, std::string>& in_tree_of_a_;
  std::map<std::string, std::string> of_tree_of_b_;
};

}  // namespace ckpt
