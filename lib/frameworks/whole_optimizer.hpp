#pragma once

#include <string>
#include <vector>

#include "store/torch/pickle.hpp"
#include "store/torch/tensor_view.hpp"

/// The state of an optimizer that is saved whole (ZeRO-0), which has numbers for names.
namespace ckpt::deepspeed {

/// Where a file of model states has something that is cut as a weight is.
struct StateOfWeight {
  std::string path;        ///< "optimizer/state/3/", of all that is kept for it; or of a master weight by itself
  std::string weight;      ///< as the module calls it
  bool is_master = false;  ///< it has the weight's values

  friend bool operator==(const StateOfWeight&, const StateOfWeight&) = default;
};

/// Which weight each number stands for: as the optimizer's groups name them, else in the order of the module. Nothing
/// without such an optimizer. Throws input, naming a group, where more than one weight could be meant, or none: the
/// groups must each have their weights in the order of the module, which shapes then tell apart.
/// https://github.com/deepspeedai/DeepSpeed, deepspeed/runtime/fp16/unfused_optimizer.py, state_dict
std::vector<StateOfWeight> states_of_weights(const torch::Pickle& tree, const torch::Storages& storages);

}  // namespace ckpt::deepspeed
