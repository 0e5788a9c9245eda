#pragma once

#include <string>
#include <vector>

#include "layout/placement/placement.hpp"
#include "store/store.hpp"

namespace ckpt {

/// torch.distributed.checkpoint's name for a tensor in groups: "model/layers" → "model.layers".
std::string dcp_tensor_name(const std::string& name);

/// The layout of a directory with an index, such as torch.distributed.checkpoint's, in which each card of `target`
/// stores its pieces of the first copy of each tensor, as boxes: in a file, and in more files for further pieces of one
/// tensor, which have the index's names (__{card}_0.distcp, __{card}_1.distcp). Leaves out files that would be empty.
/// `names`: the tensors' names by number; a tensor with an empty name is left out. Throws layout if there would be more
/// than max_cards files.
Layout dcp_layout(const Placement& target, const std::vector<std::string>& names, const DirectoryIndex& index);

}  // namespace ckpt
