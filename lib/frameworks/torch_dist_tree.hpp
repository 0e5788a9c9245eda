#pragma once

#include <map>
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

/// Whether a tensor of a model_optim_rng.pt is no weight and yet the same on all ranks, as the scale of a loss: by its
/// name there. It goes along as a value.
bool is_value(const std::string& name);

/// What torch_dist has beside weights and the optimizer's state.
struct Rest {
  std::vector<FileBeside> files;  ///< common.pt and metadata.json
  std::string objects;            ///< a tree as that of a DCP directory: what modules save besides weights
};

/// `tree`: of a model_optim_rng.pt (SourceStore::tree). `values`: its tensors as far as they are values, by name.
/// `names`: of the tensors that are written, in torch_dist. Throws input for a tree that Megatron has not made.
Rest rest(const std::string& tree, const std::map<std::string, SmallTensor>& values,
          const std::vector<std::string>& names);

}  // namespace ckpt::torch_dist
