#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/torch/pickle.hpp"
#include "tensor/extents.hpp"

namespace ckpt::deepspeed {

/// Of children that read a file of model states: nodes are a few times as large as the metadata, whose share of the
/// file is not known before.
inline constexpr std::uint64_t memory_per_file_byte = 4;
inline constexpr std::uint64_t file_bytes_per_second = 1U << 20;

/// A parameter as DeepSpeed lists it.
struct NamedShape {
  std::string name;
  Extents shape;
};

/// A weight that has another one's storage.
struct TiedWeight {
  std::string name;
  std::string to;
};

/// What a file of model states says of the optimizer's files beside it.
struct ModelStates {
  std::vector<std::vector<NamedShape>> groups;  ///< `param_shapes`: for each group what its flat data holds, in order;
                                                ///< none without ZeRO
  std::vector<NamedShape> frozen;               ///< `frozen_param_shapes`
  std::vector<TiedWeight> tied;                 ///< `shared_params`: the groups have the second
  std::vector<std::string> buffers;             ///< `buffer_names`
  std::uint64_t data_ranks = 1;                 ///< `dp_world_size`
  std::uint64_t model_ranks = 1;                ///< `mp_world_size`; the shapes are those of one of them
};

/// Reads them from the tree of such a file. Throws input for a tree that does not say them.
/// https://github.com/deepspeedai/DeepSpeed, deepspeed/runtime/engine.py, _save_checkpoint
ModelStates model_states(const torch::Pickle& tree);

/// The same of a file. Throws input.
ModelStates read_model_states(const std::filesystem::path& file);

/// Whether the groups of two model ranks have the same names in the same order.
bool lists_same_parameters(const ModelStates& one, const ModelStates& other);

}  // namespace ckpt::deepspeed
