#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "frameworks/whole_optimizer.hpp"
#include "store/pickle/pickle.hpp"
#include "tensor/shape.hpp"

namespace ckpt::deepspeed {

/// A parameter as DeepSpeed lists it.
struct NamedShape {
  std::string name;
  Shape shape;
};

/// A weight that shares another one's storage.
struct TiedWeight {
  std::string name;
  std::string to;
};

/// What a file of model states says about the optimizer's files beside it.
struct ModelStates {
  std::vector<std::vector<NamedShape>> groups;  ///< `param_shapes`: the content of each group's flat data, in order;
                                                ///< empty without ZeRO
  std::vector<NamedShape> frozen;               ///< `frozen_param_shapes`
  std::vector<TiedWeight> tied;                 ///< `shared_params`: the groups have `to`
  std::vector<std::string> buffers;             ///< `buffer_names`
  std::uint64_t data_ranks = 1;                 ///< `dp_world_size`
  std::uint64_t model_ranks = 1;                ///< `mp_world_size`; the shapes are those of one of them
  std::vector<StateOfWeight> optimizer = {};    ///< states_of_weights; empty unless requested, or with groups
};

/// Reads the states from such a file's tree. Throws input if the tree does not contain them.
/// https://github.com/deepspeedai/DeepSpeed, deepspeed/runtime/engine.py, _save_checkpoint
ModelStates model_states(const torch::Pickle& tree);

/// Reads the states from a file. Throws input, with `with_optimizer` also as states_of_weights does.
ModelStates read_model_states(const std::filesystem::path& file, bool with_optimizer);

/// Whether the groups of two model ranks have the same names in the same order.
bool lists_same_parameters(const ModelStates& one, const ModelStates& other);

}  // namespace ckpt::deepspeed
