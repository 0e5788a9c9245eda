#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Carried trees with some values left out, and others moved.
namespace ckpt::torch {

/// A carried tree, with the new names of its values.
struct TreePart {
  std::string_view tree;
  /// Returns the new name of a tensor or another value from its name in this tree: the path of keys, or in a DCP
  /// directory's tree its dotted name. Nothing: leave it out.
  std::function<std::optional<std::string>(const std::string& name, bool is_tensor)> new_name;
};

/// Combines the chosen values of all parts into one carried tree. As far as a new name ends like the old path, the
/// containers there are kept: dicts and lists of the same types, keys that are numbers. Throws input for trees that
/// cannot be read, and if two values get one name.
std::string chosen_tree(const std::vector<TreePart>& parts);

}  // namespace ckpt::torch
