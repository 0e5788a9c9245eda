#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/sidecar.hpp"
#include "layout/names/file_table.hpp"
#include "layout/placement/placement.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// A file and its schema.
struct NamedSchema {
  std::string name;
  const Schema* schema = nullptr;
};

/// Updates the trees that travel to a target's files (SourceStore::tree) wherever they depend on the number of ranks.
/// DeepSpeed's: `dp_world_size`, `mp_world_size` and `param_shapes` in model states; `partition_count` in the
/// optimizer's files, and for ZeRO-1 and 2 each rank's `group_paddings` and `param_slice_mappings`; recognises files by
/// name. Megatron's: the sizes of its mesh (megatron_args). https://github.com/deepspeedai/DeepSpeed,
/// deepspeed/runtime/zero/stage_1_and_2.py, stage3.py
class TreeFit {
 public:
  /// `source`: the files that the trees come from. `target` and `source` must outlive it. Throws input if ZeRO would
  /// order a group's parameters differently for another number of ranks (`round_robin_gradients`).
  TreeFit(const Placement& target, const std::vector<NamedSchema>& source);

  /// The tree for this file; nothing if it stays unchanged. Throws input if the tree lacks what its file's name
  /// promises, or if no setting of DeepSpeed's would make these groups of parameters; warns if a setting other than the
  /// tree's is needed.
  std::optional<std::string> fitted(FileNumber file, const std::string& tree) const;

 private:
  std::optional<Shape> shape_of(const std::string& path, Position card) const;
  void check_order(const std::vector<NamedSchema>& source) const;

  const Placement& target_;
  ArrayFiles where_;
  std::uint64_t ranks_ = 0;  // 0: none of the target's files is DeepSpeed's
  std::uint64_t model_ranks_ = 1;
  std::map<std::string, ArrayId> weights_;  // of model states
  std::vector<ArrayId> groups_;             // master weights, by group number
  bool is_of_pieces_ = false;               // ZeRO-3
};

/// Whether the value of this name (of an attribute, or another value's path) describes the sharding: it differs in each
/// file of a checkpoint, and TreeFit updates it. A difference between files is to be expected then, and nothing is
/// lost.
bool follows_from_ranks(std::string_view name);

/// DeepSpeed's `latest`, if a target's files are those of one tag; else nothing.
std::optional<Sidecar> latest_sidecar(const Layout& target);

}  // namespace ckpt
