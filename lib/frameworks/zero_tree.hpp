#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/pickle/pickle.hpp"
#include "tensor/box.hpp"
#include "tensor/shape.hpp"

namespace ckpt::deepspeed {

/// A rank's slice of a group of parameters, in elements.
struct GroupSlice {
  struct Parameter {
    std::string name;
    Interval run;                ///< within the slice; empty: none of it
    std::uint64_t elements = 0;  ///< that a model rank has
  };
  std::uint64_t first = 0;  ///< where the slice begins in the group,
  std::uint64_t each = 0;   ///< how long it is, padding included,
  std::uint64_t end = 0;    ///< where the group's last parameter ends,
  std::uint64_t all = 0;    ///< and the padding behind it
  std::vector<Parameter> parameters;
};

/// A DeepSpeed file's tree (SourceStore::tree), for changing. Values that are None or missing stay so.
class ZeroTree {
 public:
  /// `tree` must outlive it. Throws input if it is not such a tree.
  explicit ZeroTree(const std::string& tree);

  /// In model states: `dp_world_size` and `mp_world_size`.
  void set_ranks(std::uint64_t data_ranks, std::uint64_t model_ranks);
  /// The shape of a model states file's part of a parameter, by its path there; nothing if it has no part.
  using ShapeOf = std::function<std::optional<Shape>(const std::string& path)>;
  /// `param_shapes` and `frozen_param_shapes`.
  void set_shapes(const ShapeOf& shape_of);
  /// In an optimizer's file: `partition_count`, one number or one for each group.
  void set_partitions(std::uint64_t ranks);
  /// Sets `group_paddings` and `param_slice_mappings`. Throws input if the tree has more groups.
  void set_slices(const std::vector<GroupSlice>& groups);
  /// Checks that ZeRO-3 makes the present groups with this number of ranks: it begins a new one when a group reaches
  /// `sub_group_size` elements of a rank. Throws input if no value does; with `is_told` warns if a value other than the
  /// tree's is needed.
  void check_groups(const std::vector<GroupSlice>& groups, std::uint64_t ranks, bool is_told) const;

  std::string take() const;

 private:
  torch::PickleId value(torch::PickleId dict, std::string_view key) const;
  void set(torch::PickleId dict, std::string_view key, torch::PickleId to);
  void set_shapes_in(torch::PickleId dict, const std::string& folder, const ShapeOf& shape_of);
  torch::PickleId list_of(const std::vector<std::uint64_t>& numbers);
  torch::PickleId slice_node(const Interval& run);
  std::uint64_t sub_group_size() const;

  torch::Pickle tree_;
  torch::PickleId optimizer_ = torch::no_node;  // `optimizer_state_dict`
  torch::PickleId slice_class_ = torch::no_node;
};

}  // namespace ckpt::deepspeed
