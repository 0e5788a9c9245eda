#pragma once

#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/global_shapes.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// What the tree of a file says. A tensor's name is its path: the keys of dicts and the numbers of list
/// items, joined with '/'. Numbers, texts, None and lists of them are attributes: of the root, or of the group that
/// their dict is. All else is a leaf. Throws input, naming the tensor, as tensor_in does, for
/// two of one name, and for trees without end. `shapes`: logical ones that the file tells beside the tree.
Schema read_tree(const Pickle& pickle, const Storages& storages, GlobalShapes shapes = {});

}  // namespace ckpt::torch
