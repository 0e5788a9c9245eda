#pragma once

#include <map>
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

/// The tensors in the tree of a model_optim_rng.pt (SourceStore::tree) that are no weights, and yet the same on all
/// ranks, as the scale of a loss is: they go along as values. Throws input for a tree that Megatron has not made.
std::set<std::string> value_names(const std::string& tree);

/// What torch_dist has beside weights and the optimizer's state.
struct Rest {
  std::vector<FileBeside> files;  ///< common.pt and metadata.json
  std::string objects;            ///< a tree as that of a DCP directory: what modules save besides weights
};

/// `tree`: as above. `values`: of the tensors that it names, those that are there. `names`: of the tensors that are
/// written, in torch_dist. Throws as that.
Rest rest(const std::string& tree, const SmallTensors& values, const std::vector<std::string>& names);

}  // namespace ckpt::torch_dist
