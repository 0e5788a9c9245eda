#pragma once

#include <optional>
#include <string>

#include "layout/mesh.hpp"

namespace ckpt {

/// Megatron's older form keeps the arguments of the job in each file (`args`, an argparse.Namespace), and refuses to
/// load a file whose arguments give other sizes of its mesh than the job's. Gives the tree of a file
/// (SourceStore::tree) with the sizes of this mesh, whose axes are known by Megatron's short names (tp, pp, ep);
/// nothing where it says them already, or is no such tree. Sizes of axes that the mesh has not stay, but on one card,
/// where all are 1. https://github.com/NVIDIA/Megatron-LM, megatron/training/checkpointing.py, check_checkpoint_args
std::optional<std::string> with_mesh_in_args(const std::string& tree, const Mesh& mesh);

}  // namespace ckpt
