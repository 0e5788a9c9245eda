#pragma once

#include <string>
#include <vector>

namespace ckpt {

/// A small file beside the data files, from which a framework recognises a checkpoint or reads values that are not
/// tensors.
struct Sidecar {
  std::string name;
  std::string bytes;
  std::vector<std::string> leaves = {};  ///< names of its values that no attribute can hold
};

}  // namespace ckpt
