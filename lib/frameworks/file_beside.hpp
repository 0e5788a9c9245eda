#pragma once

#include <string>
#include <tuple>
#include <vector>

namespace ckpt {

/// A small file beside those with data, by which a framework finds a checkpoint or reads what is no tensor in it.
struct FileBeside {
  std::string name;
  std::string bytes;
  std::vector<std::string> leaves = {};  ///< the names of the values in it that no attribute can hold

  static auto fields(auto& self) { return std::tie(self.name, self.bytes, self.leaves); }
};

}  // namespace ckpt
