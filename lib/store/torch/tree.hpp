#pragma once

#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/global_shapes.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

struct TreeReading {
  Schema schema;
  std::vector<std::string> left_out;  ///< what a schema cannot hold: "args (argparse.Namespace)"
};

/// What the tree of a file says. A tensor's name is its path: the keys of dicts and the numbers of list
/// items, joined with '/'. Numbers, texts, None and lists of them are attributes: of the root, or of the group that
/// their dict is. Throws input, naming the tensor, as tensor_in does, for
/// two of one name, and for trees without end. `shapes`: logical ones that the file tells beside the tree.
TreeReading read_tree(const Pickle& pickle, const Storages& storages, GlobalShapes shapes = {});

}  // namespace ckpt::torch
