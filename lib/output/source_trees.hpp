#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "frameworks/torch_dist_tree.hpp"
#include "frameworks/tree_fit.hpp"
#include "layout/names/card_names.hpp"
#include "layout/names/file_table.hpp"
#include "layout/names/naming.hpp"
#include "output/new_name.hpp"
#include "output/source_schemas.hpp"
#include "processes/communicator.hpp"
#include "store/kept_tree.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Which source files' trees (SourceStore::tree) each file of an output takes: the tree of the card with the same
/// coordinates, else of the lowest card, from the file with the same names; if several files of the source hold these
/// names, one of each, below the prefix of its names. A tree has only what the job takes, under its new names
/// (NewName), fitted to the target's file (TreeFit). Trees that the source's files keep for another format
/// (Schema::kept_tree) count as well. All arguments of the constructor must outlive it.
class SourceTrees {
 public:
  using Tree = std::shared_ptr<const std::string>;

  /// `format`: the output's. Only files of which it takes trees supply one, and with `keeps`, or where they only keep
  /// one themselves, those whose trees it keeps (Store::keeps_trees); if it has an index, only the first file takes
  /// one. Throws as TreeFit.
  SourceTrees(const Checkpoint& source, const Placement& target, const Store& format, bool keeps, NewName new_name);

  /// The schemas of files whose trees some target file takes; and whether these are all that there are.
  const std::set<const Schema*>& used() const noexcept { return used_; }
  bool are_all_used(const std::vector<SourceSchema>& source_schemas) const;
  /// Whether the output's format has trees: trees that it only keeps are seen only by those who take them later.
  bool has_trees() const noexcept { return format_.trees() != nullptr; }
  /// Whether files beside the data hold everything that is neither in the data files nor in the first one's tree; and
  /// whether a leaf is in them.
  bool has_all_sidecars() const noexcept { return has_all_sidecars_; }
  bool is_in_sidecar(const std::string& leaf) const { return sidecar_leaves_.contains(leaf); }

  /// If not every process sees every file, sends the trees that this process's target files take from those that see
  /// them. Collective. Before `of`.
  void fetch(const std::vector<FileNumber>& targets, SourceStore& store, Communicator& processes);
  /// The tree that a target file takes; null if it takes none. Throws as SourceStore::tree. Threads may call it
  /// together.
  Tree of(FileNumber target, SourceStore& store);
  /// The small files that the output has beside its data files: the source's, of the same format, or those made from
  /// the first file's tree (torch_dist::common_state). For the process that makes the first file; after `fetch`, before
  /// `of`. Throws as torch_dist::common_state, and input for a tree of another framework.
  std::vector<Sidecar> sidecars(SourceStore& store);

 private:
  using Origins = std::vector<FileNumber>;
  struct Key {
    Origins files;
    std::size_t entry = 0;  // of the target's files
    friend bool operator==(const Key&, const Key&) = default;
  };
  const std::string& prefix_of_target(FileNumber target) const;
  const std::string& prefix_of_source(FileNumber file) const;
  Origins find_origins(FileNumber target);
  std::optional<FileNumber> origin_in(std::size_t entry, FileNumber target);
  std::optional<FileNumber> lowest_file_of(std::size_t entry);
  std::optional<FileNumber> file_of(Position card, std::size_t entry) const;
  Tree taken_by(FileNumber target, SourceStore& store);
  std::vector<torch_dist::RankTree> trees_of_ranks(SourceStore& store);
  torch_dist::SmallTensors values_of(FileNumber file, const std::set<std::string>& names, SourceStore& store,
                                     std::uint64_t& room) const;
  bool is_kept(const Schema& schema) const { return !format_.takes_trees_of(tree_format(schema)); }
  bool is_taken_as_it_is(FileNumber target) const;
  Tree chosen(FileNumber target, SourceStore& store);
  std::optional<std::string> name_of_tensor(FileNumber file, FileNumber target, const std::string& name) const;
  std::optional<std::string> name_of_value(FileNumber file, FileNumber target, const std::string& name) const;
  std::optional<CardNames::Name> name_on_card(FileNumber file, const std::string& name) const;
  std::optional<std::string> name_within(FileNumber target, const std::string& name) const;
  Tree read(FileNumber file, SourceStore& store) const;

  const Checkpoint& source_;
  const Placement& target_;
  ArrayFiles where_;      // of the target
  Naming naming_;         // of the source
  CardNames card_names_;  // of the source
  const Store& format_;
  NewName new_name_;
  std::vector<std::string> names_;  // of the output's tensors
  bool keeps_;
  bool makes_rest_ = false;  // instead of carrying a tree
  Tree objects_;             // then of the first file
  bool has_all_sidecars_ = false;
  std::set<std::string> sidecar_leaves_;
  std::optional<TreeFit> fit_;                                     // if there are trees
  std::vector<Origins> origins_;                                   // by target file
  std::map<std::size_t, std::optional<FileNumber>> lowest_files_;  // by entry of the source's files
  std::set<const Schema*> used_;
  std::map<FileNumber, Tree> sent_;

  std::mutex mutex_;  // guards the tree taken last: many files may take one
  std::optional<Key> last_;
  Tree last_tree_;
};

}  // namespace ckpt
