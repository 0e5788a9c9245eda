#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"
#include "store/torch/dcp_metadata.hpp"
#include "store/torch/tree_writer.hpp"

/// A tree as DCP stores it: tensors, and objects that are items by themselves, each with a name and a path.
namespace ckpt::torch {

struct DcpParts {
  struct Object {
    DcpPath path;
    PickledTree pickled;
  };
  std::vector<Object> objects;
  struct Tensor {
    std::string name;  ///< as the output has it: `dcp_name` of what the source has
    DcpPath path;
  };
  std::vector<Tensor> tensors;
  std::string mcore_data;  ///< DcpMetadata::mcore_data
};

/// What a specification's tree holds, cut as torch cuts it: dicts are entered, lists where there is a tensor in them;
/// and the attributes that are not in it. Throws input for a tree that is too deep, and where two values would have one
/// name.
DcpParts dcp_parts(const FileSpec& spec);

/// What of a specification a directory would not hold. Throws input for elements that torch has no type for, and for
/// attributes of one name.
std::vector<std::string> dcp_losses(const FileSpec& spec);

[[noreturn]] void refuse_twice(const std::string& name);

}  // namespace ckpt::torch
