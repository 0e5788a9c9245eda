#pragma once

#include <string>
#include <vector>

#include "store/torch/dcp_metadata.hpp"
#include "store/torch/pickle.hpp"
#include "store/torch/pickle_writer.hpp"
#include "store/torch/tree_edit.hpp"

/// The tree of a DCP directory: its tensors and objects by their paths.
namespace ckpt::torch {

/// ("paths", {path: value}) or ("paths", {path: value}, mcore_data): the root of a tree that was read from a DCP
/// directory, a persistent value.
inline constexpr const char* carried_paths = "paths";

/// "model", "layers", 0 → "model.layers.0".
std::string dcp_name(const DcpPath& path);

/// "model", "layers", 0 → "model/layers/0": the name in a tree of dicts and lists.
std::string tree_name(const DcpPath& path);

/// "model/layers" → "model", "layers": the path of what stood by this name in a file with groups.
DcpPath dcp_path(const std::string& name);

/// The path of what has got another dotted name than its path's: what that keeps of the end of the path, below one key;
/// one key where the path was no more.
DcpPath renamed_path(const std::string& name, const DcpPath& old);

/// A path as a tuple, as `.metadata` and trees have it; and back.
void write_path(PickleWriter& out, const DcpPath& path);
DcpPath path_of(const Pickle& tree, PickleId tuple);

/// What is behind the word "paths" in a tree that was read from a DCP directory; nothing of another tree.
std::vector<PickleId> behind_paths(const Pickle& tree);

/// Turns such a tree into the dicts and lists that its paths lead through, as dcp_to_torch_save does; leaves another
/// one as it is. Of tensors, only these are in it, each by its `tree_name`; one that is among them by its own name
/// stands in the root by that. Throws input where a value is in the way of others, or a list has no place for one.
/// https://github.com/pytorch/pytorch, torch/distributed/checkpoint/_traverse.py, set_element
void unfold_paths(Pickle& tree, const NameSet& tensors);

}  // namespace ckpt::torch
