#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frameworks/file_beside.hpp"
#include "tensor/dtype.hpp"
#include "tensor/extents.hpp"

namespace ckpt::torch_dist {

/// A tensor with its elements, in row-major order.
struct SmallTensor {
  DType dtype;
  Extents shape;
  std::string bytes;
};
using SmallTensors = std::map<std::string, SmallTensor>;  // by name

/// The tensors in the tree of a model_optim_rng.pt (SourceStore::tree) that are no weights: the scale of a loss, which
/// all ranks have, states of generators, and what modules save besides weights. They go along as values. Without
/// `has_states` none of the optimizer. Throws input for a tree that Megatron has not made.
std::set<std::string> value_names(const std::string& tree, bool has_states = true);

/// A model_optim_rng.pt of a tensor and a pipeline rank.
struct RankTree {
  struct Rank {
    std::uint64_t tensor = 0;
    std::uint64_t pipeline = 0;
  };
  std::optional<Rank> rank;  ///< nothing where the file's name does not say it
  std::string tree;
  SmallTensors values;  ///< of the tensors that the tree names, those that are there
  /// What a name in the file ("model/decoder.layers.0.x", counted by the stage) is in the whole model.
  std::function<std::string(const std::string&)> name_of;
};

/// What Megatron calls the folder of a rank says: "iter_0000010/mp_rank_03_001/model_optim_rng.pt". Nothing for other
/// paths, and where there is a rank of experts.
std::optional<RankTree::Rank> rank_in_path(const std::string& path);

/// What torch_dist has beside weights and the optimizer's state.
struct Rest {
  std::vector<FileBeside> files;  ///< common.pt and metadata.json
  std::string objects;            ///< a tree as that of a DCP directory: what modules save besides weights
};

/// `ranks`: one at least; what all have alike is taken from the first. An object of a module is that of the first rank
/// that has it, as tensor ranks are replicas there; states of generators are each rank's, where the ranks are known and
/// none is missing. `names`: of the tensors that are written, in torch_dist. Throws as value_names.
Rest rest(const std::vector<RankTree>& ranks, const std::vector<std::string>& names);

}  // namespace ckpt::torch_dist
