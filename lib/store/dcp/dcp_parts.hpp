#pragma once

#include <string>
#include <vector>

#include "store/dcp/dcp_metadata.hpp"
#include "store/store.hpp"
#include "store/torch/tree_writer.hpp"

/// A tree as DCP stores it: tensors, and objects that are items of their own, each with a name and a path.
namespace ckpt::torch {

struct DcpParts {
  struct Object {
    DcpPath path;
    PickledTree pickled;
  };
  std::vector<Object> objects;
  struct Tensor {
    std::string name;  ///< its name in the output: `dcp_name` of its path in the source
    DcpPath path;
  };
  std::vector<Tensor> tensors;
  std::string mcore_data;  ///< DcpMetadata::mcore_data
};

/// Splits a specification's tree as torch does, entering dicts, and lists that contain a tensor; adds the attributes
/// that are not in the tree. Throws input if a tree is too deep, or if two values get one name.
DcpParts dcp_parts(const FileSpec& spec);

/// Lists what a directory would lose of a specification. Throws input for elements that torch has no type for, and for
/// attributes of the same name.
std::vector<std::string> dcp_losses(const FileSpec& spec);

[[noreturn]] void refuse_twice(const std::string& name);

}  // namespace ckpt::torch
