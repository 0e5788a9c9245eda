#pragma once

#include <string>
#include <vector>

#include "store/dcp/dcp_metadata.hpp"
#include "store/pickle/pickle.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/tree_edit.hpp"

/// The tree of a DCP directory: its tensors and objects by their paths.
namespace ckpt::torch {

/// The root of a tree that was read from a DCP directory is a persistent value: ("paths", {path: value}) or ("paths",
/// {path: value}, mcore_data).
inline constexpr const char* carried_paths = "paths";

/// "model", "layers", 0 → "model.layers.0".
std::string dcp_name(const DcpPath& path);

/// "model", "layers", 0 → "model/layers/0": the name in a tree of dicts and lists.
std::string tree_name(const DcpPath& path);

/// "model/layers" → "model", "layers": the path of a value that has this name in a file with groups.
DcpPath dcp_path(const std::string& name);

/// Returns the path of a value whose dotted name has changed. As far as the new name ends like the old path, that end
/// is kept, below one key for the rest. If no end matches, or the old path is a single key, the whole name is one key.
DcpPath renamed_path(const std::string& name, const DcpPath& old);

/// Convert a path to a tuple, as `.metadata` and trees contain it, and back.
void write_path(PickleWriter& out, const DcpPath& path);
DcpPath path_of(const Pickle& tree, PickleId tuple);

/// Returns the items after the word "paths" in a tree that was read from a DCP directory; nothing for other trees.
std::vector<PickleId> behind_paths(const Pickle& tree);

/// Turns such a tree into the dicts and lists along its paths, as dcp_to_torch_save does; leaves any other tree
/// unchanged. Only the given tensors are in the result, each by its `tree_name`; a tensor that is given by its own name
/// is in the root under that name. Throws input if a value blocks the path of others, or a list has no place for one.
/// https://github.com/pytorch/pytorch, torch/distributed/checkpoint/_traverse.py, set_element
void unfold_paths(Pickle& tree, const NameSet& tensors);

}  // namespace ckpt::torch
