#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/file_beside.hpp"
#include "layout/file_table.hpp"
#include "layout/placement.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// A file, and what its metadata says.
struct NamedSchema {
  std::string name;
  const Schema* schema = nullptr;
};

/// Has the trees that travel to a target's files (SourceStore::tree) say there what follows from how many ranks there
/// are. DeepSpeed's: `dp_world_size`, `mp_world_size` and `param_shapes` in model states; in the optimizer's files
/// `partition_count`, and for ZeRO-1 and 2 each rank's `group_paddings` and `param_slice_mappings`; files are known by
/// their names. Megatron's: the sizes of its mesh (megatron_args). https://github.com/deepspeedai/DeepSpeed,
/// deepspeed/runtime/zero/stage_1_and_2.py, stage3.py
class TreeFit {
 public:
  /// `source`: the files that the trees come from. Both must outlive it. Throws input where ZeRO would lay the
  /// parameters of a group in another order for another number of ranks (`round_robin_gradients`).
  TreeFit(const Placement& target, const std::vector<NamedSchema>& source);

  /// A tree as it is to be in this file; nothing where it stays as it is. Throws input for one that does not say what
  /// its file's name lets expect, and where no setting of DeepSpeed's would make the groups of parameters that there
  /// are; warns where another than the tree's is needed.
  std::optional<std::string> fitted(FileNumber file, const std::string& tree) const;

 private:
  std::optional<Extents> shape_of(const std::string& path, Position card) const;
  void check_order(const std::vector<NamedSchema>& source) const;

  const Placement& target_;
  ArrayFiles where_;
  std::uint64_t ranks_ = 0;  // 0: none of the target's files is DeepSpeed's
  std::uint64_t model_ranks_ = 1;
  std::map<std::string, ArrayId> weights_;  // of model states
  std::vector<ArrayId> groups_;             // master weights, by the groups' numbers
  bool is_of_pieces_ = false;               // ZeRO-3
};

/// Whether a file says under this name (of an attribute, or the path of another value) how it is cut: in each file of
/// a checkpoint something else, which TreeFit sees to. It is no news where files differ, and no loss.
bool follows_from_ranks(std::string_view name);

/// DeepSpeed's `latest`, where the files of a target are those of one tag; nothing for others.
std::optional<FileBeside> file_beside(const Layout& target);

}  // namespace ckpt
