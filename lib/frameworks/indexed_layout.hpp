#pragma once

#include <string>
#include <vector>

#include "layout/placement/placement.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The layout of a directory with an index in which each card of `target` stores its pieces of the first copy of each
/// tensor, as boxes: in one file, and in more for further pieces of one tensor. Pads them if the index asks for it.
/// Leaves out files that would be empty. `names`: the tensors' names by number; a tensor with an empty name is left
/// out. Throws layout if there would be more than max_cards files.
Layout indexed_layout(const Placement& target, const std::vector<std::string>& names, const DirectoryIndex& index);

}  // namespace ckpt
