#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Carried trees of which some is left out, and some stands elsewhere.
namespace ckpt::torch {

/// A carried tree, and what becomes of what is in it.
struct TreePart {
  std::string_view tree;
  /// The new name of a tensor, or of another value, by the name that it has in this tree: the path of keys, or in a
  /// DCP directory's tree its dotted name. Nothing: it is left out.
  std::function<std::optional<std::string>(const std::string& name, bool is_tensor)> new_name;
};

/// One carried tree of what is taken of all these. What a name keeps of the end of its old path keeps the containers
/// there: dicts and lists of these types, keys that are numbers. Throws input for trees that cannot be read, and for
/// two values of one name.
std::string chosen_tree(const std::vector<TreePart>& parts);

}  // namespace ckpt::torch
