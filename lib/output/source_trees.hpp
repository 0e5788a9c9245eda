#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "frameworks/tree_fit.hpp"
#include "layout/file_table.hpp"
#include "output/sayings.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Which source file's tree (SourceStore::tree) each file of an output takes: that of the card with the same
/// coordinates, else of the lowest card, in the file with the same names; fitted to where it is taken (TreeFit). All
/// arguments of the constructor must outlive it.
class SourceTrees {
 public:
  using Tree = std::shared_ptr<const std::string>;

  /// `format`: the output's. Only files of which it takes trees give one; where it has an index, only the first file
  /// takes one. Throws as TreeFit.
  SourceTrees(const Checkpoint& source, const Placement& target, const Store& format);

  /// The file whose tree a target file takes, if there is one.
  std::optional<FileNumber> origin(FileNumber target) const { return origins_[target]; }
  /// What the files say of which some target file takes the tree; and whether that is all that there is.
  const std::set<const Schema*>& used() const noexcept { return used_; }
  bool are_all_used(const std::vector<Saying>& sayings) const;

  /// Where not every process sees every file, has those that do send the trees that this process's target files take.
  /// Collective. Before `of`.
  void fetch(const std::vector<FileNumber>& targets, SourceStore& store, Communicator& processes);
  /// The tree that a target file takes; null where it takes none. Throws as SourceStore::tree. Threads may call it
  /// together.
  Tree of(FileNumber target, SourceStore& store);

 private:
  std::optional<FileNumber> find_origin(FileNumber target, const FileTable& targets, const Layout& layout) const;
  std::optional<FileNumber> file_of(Position card, std::size_t entry) const;
  Tree read(FileNumber file, SourceStore& store);

  const Checkpoint& source_;
  const Store& format_;
  std::optional<TreeFit> fit_;                      // where there are trees
  std::vector<std::optional<FileNumber>> origins_;  // by target file
  std::set<const Schema*> used_;
  std::map<FileNumber, Tree> sent_;

  std::mutex mutex_;  // for the tree that was read last: many files may take one
  std::optional<FileNumber> last_;
  Tree last_tree_;
};

}  // namespace ckpt
