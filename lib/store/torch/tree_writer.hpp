#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/pickle/pickle.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/store.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt::torch {

/// The pickle of a new file, and the storages that it refers to.
struct PickledTree {
  std::string pickle;
  std::vector<std::string> keys;  ///< the storage key of each array of the specification
  struct Known {
    std::string key;
    std::string bytes;
  };
  std::vector<Known> others;  ///< storages in opaque objects
};

/// Writes the tree that a specification carries, or an empty dict, with the specification's arrays and attributes at
/// their paths: other tensors are removed from the tree, and missing ones are added. Throws input for arrays that torch
/// has no type for, and if a list blocks a path.
PickledTree write_tree(const FileSpec& spec);

/// Adds the node of an array of the specification, by its number, to a pickle.
using ArrayForm = std::function<void(PickleWriter& out, std::size_t array)>;

/// Writes such a tree by at least this protocol, with arrays in another form than torch's. Throws input if one is
/// inside an object.
std::string write_tree(const FileSpec& spec, unsigned protocol, const ArrayForm& form);

/// Writes the pickle of a file that is only this array.
PickledTree write_tensor(const FileSpec::Array& array);

/// Writes the pickle of an object from a carried tree that neither is nor contains a named tensor. Throws input if it
/// is or does.
PickledTree write_object(const Pickle& tree, PickleId object);

/// Returns the type of an array's elements. Throws input if torch has none.
TorchType checked_type(const FileSpec::Array& array);

/// Lists the attributes that a tree has no place for, because of their type, or because a tensor has their name.
std::vector<std::string> lost_attributes(const FileSpec& spec);

}  // namespace ckpt::torch
