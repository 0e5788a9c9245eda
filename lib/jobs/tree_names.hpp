#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/types/selection.hpp"
#include "store/store.hpp"

/// Names in DCP directories and torch files: the former are dotted, the latter are paths in dicts (Schema::tree_names).
namespace ckpt {

/// A selection's names as paths in a tree of dicts. A renamed tensor has one key below the part of its path that its
/// new name keeps (renamed_path). Nothing if the names are the selection's own.
std::optional<std::vector<std::string>> names_in_tree(const Checkpoint& checkpoint, const Placement& source,
                                                      const Selection& selection);

/// Finds a parameter of checkpoint B by checkpoint A's name for it: the same name, its counterpart in a tree, or as the
/// directory index of one of their formats spells it.
class NamesInOther {
 public:
  /// All arguments must outlive it. An index may be null.
  NamesInOther(const Checkpoint& a, const DirectoryIndex* index_of_a, const Checkpoint& b,
               const DirectoryIndex* index_of_b, const Placement& placement_of_b);

  std::optional<ParameterId> find(const std::string& name) const;

 private:
  const Placement& b_;
  const std::map<std::string, std::string>& in_tree_of_a_;
  std::map<std::string, std::string> of_tree_of_b_;
  const DirectoryIndex* index_of_b_;
  std::map<std::string, ParameterId> spelled_by_a_;
};

}  // namespace ckpt
