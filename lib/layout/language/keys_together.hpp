#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"

namespace ckpt {

/// The context in which keys are checked.
struct KeysContext {
  const Mesh& mesh;
  std::optional<std::size_t> rank;  ///< rank of the tensor that they are for
  bool is_whole = true;             ///< false: a `like` accompanies them, which may provide a missing `split`
};

/// Throws in the words of the caller, who owns the keys. `place`: the path of the wrong key, such as {"pad", "0"};
/// empty if it is not one of them.
using RefuseKeys =
    std::function<void(const std::vector<std::string>& place, const std::string& found, const std::string& expected)>;

/// Checks the conditions that well-formed keys must satisfy together: the keys of a rule as written, or those that a
/// tensor has from its rule and everything that the rule borrows.
void check_keys_together(const Keys& keys, const KeysContext& context, const RefuseKeys& refuse);

}  // namespace ckpt
