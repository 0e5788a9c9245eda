#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frameworks/sidecar.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt::torch_dist {

/// A tensor with its elements, in row-major order.
struct SmallTensor {
  DType dtype;
  Shape shape;
  std::string bytes;
};
using SmallTensors = std::map<std::string, SmallTensor>;  // by name

/// The tensors in the tree of a model_optim_rng.pt (SourceStore::tree) that are not weights: the scale of a loss, which
/// all ranks have, states of generators, and what modules save besides weights. They are kept as values. Without
/// `has_states`, leaves out the optimizer's. Throws input for a tree that Megatron did not make.
std::set<std::string> value_names(const std::string& tree, bool has_states = true);

/// The model_optim_rng.pt of one tensor and pipeline rank.
struct RankTree {
  struct Rank {
    std::uint64_t tensor = 0;
    std::uint64_t pipeline = 0;
  };
  std::optional<Rank> rank;  ///< absent if the file's name does not say it
  std::string tree;
  SmallTensors values;  ///< the tensors that the tree names, as far as they are there
  /// Maps a name in the file ("model/decoder.layers.0.x", numbered within the stage) to the whole model's name.
  std::function<std::string(const std::string&)> name_of;
};

/// The rank in Megatron's name for its folder: "iter_0000010/mp_rank_03_001/model_optim_rng.pt". Nothing for other
/// paths, and if it contains a rank of experts.
std::optional<RankTree::Rank> rank_in_path(const std::string& path);

/// What torch_dist keeps besides weights and the optimizer's state.
struct CommonState {
  std::vector<Sidecar> files;  ///< common.pt and metadata.json
  std::string objects;         ///< a DCP directory's tree of what modules save besides weights
};

/// `ranks`: at least one; values that all ranks share come from the first. A module's object comes from the first rank
/// that has it, since tensor ranks are replicas there. States of generators are each rank's; they need all ranks to be
/// known and present. `names`: torch_dist names of the tensors that are written. Throws as value_names.
CommonState common_state(const std::vector<RankTree>& ranks, const std::vector<std::string>& names);

}  // namespace ckpt::torch_dist
