#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// What is known where keys are checked, besides themselves.
struct KeysContext {
  const Mesh& mesh;
  std::optional<std::size_t> rank;  ///< of the tensor that they are for
  bool is_whole = true;             ///< else a `like` stands beside them: a `split` that is not here may come from it
};

/// Throws, in the words of the one who has the keys. `place`: the path of the key that is wrong, such as {"pad", "0"};
/// empty where it is not one of them.
using RefuseKeys =
    std::function<void(const std::vector<std::string>& place, const std::string& found, const std::string& expected)>;

/// What keys, well formed each, must satisfy together: those of a rule as it is written, and those that a tensor has
/// from its rule and all that this one borrows.
void check_keys_together(const Keys& keys, const KeysContext& context, const RefuseKeys& refuse);

}  // namespace ckpt
