#pragma once

#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/global_shapes.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// Builds a schema from the tree of a file. A tensor's name is its path: the keys of dicts and the indices of list
/// items, joined with '/'. Numbers, texts, None and lists of them are attributes of the root, or of the group that
/// represents their dict. Everything else is a leaf. Throws input, naming the tensor, as tensor_in does, for two
/// tensors of one name, and for trees without end. `shapes`: logical shapes that the file stores beside the tree.
Schema read_tree(const Pickle& pickle, const Storages& storages, GlobalShapes shapes = {});

}  // namespace ckpt::torch
