#pragma once

#include <optional>
#include <string>

#include "layout/language/mesh.hpp"

namespace ckpt {

/// Megatron's older form keeps the job's arguments in each file (`args`, an argparse.Namespace), and refuses to load a
/// file whose arguments state other mesh sizes than the job's. Returns a file's tree (SourceStore::tree) with the sizes
/// of this mesh, whose axes have Megatron's short names (tp, pp, ep); nothing if the tree already states them, or has
/// no arguments. Keeps the sizes of axes that the mesh lacks, except on one card, where all are 1.
/// https://github.com/NVIDIA/Megatron-LM, megatron/training/checkpointing.py, check_checkpoint_args
std::optional<std::string> with_mesh_in_args(const std::string& tree, const Mesh& mesh);

/// What Megatron's arguments say of the model and its training.
struct MegatronArgs {
  std::string config;     ///< heads, groups, sizes of heads and experts, as a config.json has them
  std::string optimizer;  ///< "adam", "muon"; empty if unknown
};

/// Returns the arguments in a file's tree, or nothing without any.
/// https://github.com/NVIDIA/Megatron-LM, megatron/training/arguments.py
std::optional<MegatronArgs> megatron_args(const std::string& tree);

}  // namespace ckpt
