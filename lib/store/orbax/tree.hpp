#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::orbax {

inline constexpr const char* format_name = "orbax";

/// Orbax's numbers for containers: NamedTuples and custom nodes are dicts, too.
enum class KeyType : unsigned { unknown = 0, list = 1, dict = 2 };

/// A key of a leaf, of the outermost container first.
struct TreeKey {
  std::string key;
  KeyType type = KeyType::unknown;  ///< of the container
};

/// A leaf of an item's tree, as `_METADATA` describes it.
struct TreeLeaf {
  std::vector<TreeKey> keys;
  std::string type;  ///< Orbax's word: "jax.Array", "scalar", "string"; an empty container is a leaf: "None", "Dict"
  bool is_array = true;
  std::string text;  ///< of a string
};

/// Words of TreeLeaf::type.
inline constexpr std::string_view string_type = "string";
inline constexpr std::string_view scalar_type = "scalar";

/// Returns the keys joined by dots, as Orbax names arrays.
std::string name_of(const TreeLeaf& leaf);

/// Returns an array of this name whose containers nobody has described: its keys are those between dots.
TreeLeaf leaf_named(std::string_view name);

/// The tree of an item as a text (SourceStore::tree): JSON of this project's own form. `leaves_in` throws input for a
/// text of any other form.
std::string tree_of(const std::vector<TreeLeaf>& leaves);
std::vector<TreeLeaf> leaves_in(const std::string& tree);

/// Returns such a tree with new names; without the leaves that get none.
std::string chosen_tree(
    const std::string& tree,
    const std::function<std::optional<std::string>(const std::string& name, bool is_array)>& new_name);

}  // namespace ckpt::orbax
