#pragma once

#include <string>
#include <vector>

#include "store/pickle/pickle.hpp"
#include "store/torch/tensor_view.hpp"

/// The state of an optimizer that is saved whole (ZeRO-0), whose names are numbers.
namespace ckpt::deepspeed {

/// The place in a file of model states of something that is cut as a weight is.
struct StateOfWeight {
  std::string path;        ///< "optimizer/state/3/" for all of its states, or the path of one set of master weights
  std::string weight;      ///< the module's name for it
  bool is_master = false;  ///< it has the weight's values

  friend bool operator==(const StateOfWeight&, const StateOfWeight&) = default;
};

/// Which weight each number stands for, by the names in the optimizer's groups, else by the module's order. Empty
/// without such an optimizer. Throws input, naming a group, if several weights fit, or none: each group must have its
/// weights in the module's order, so that shapes can distinguish them.
/// https://github.com/deepspeedai/DeepSpeed, deepspeed/runtime/fp16/unfused_optimizer.py, state_dict
std::vector<StateOfWeight> states_of_weights(const torch::Pickle& tree, const torch::Storages& storages);

}  // namespace ckpt::deepspeed
