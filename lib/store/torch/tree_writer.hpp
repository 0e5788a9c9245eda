#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.hpp"
#include "store/torch/element_types.hpp"
#include "store/torch/pickle.hpp"

namespace ckpt::torch {

/// The pickle of a new file, and the storages that it speaks of.
struct PickledTree {
  std::string pickle;
  std::vector<std::string> keys;  ///< the storage of each array of the specification
  struct Known {
    std::string key;
    std::string bytes;
  };
  std::vector<Known> others;  ///< in objects that nobody understands
};

/// The tree that a specification carries, or an empty dict, with the arrays and attributes of the specification at
/// their paths: what it holds of other tensors is taken out, and what is missing is put in. Throws input for arrays
/// that torch has no type for, and where a list is in the way.
PickledTree write_tree(const FileSpec& spec);

/// The pickle of one array by itself.
PickledTree write_tensor(const FileSpec::Array& array);

/// The pickle of an object in a carried tree that is, or holds, no tensor of its own. Throws input for one that does.
PickledTree write_object(const Pickle& tree, PickleId object);

/// The type of an array's elements. Throws input where torch has none.
TorchType checked_type(const FileSpec::Array& array);

/// Attributes that have no place in a tree: what they are, or where a tensor's name is theirs.
std::vector<std::string> lost_attributes(const FileSpec& spec);

}  // namespace ckpt::torch
