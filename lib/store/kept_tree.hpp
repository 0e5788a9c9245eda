#pragma once

#include <string>
#include <string_view>

#include "store/catalog.hpp"

/// Trees (SourceStore::tree) in files of formats without trees: a text among the attributes of the root group.
namespace ckpt {

/// The attribute's name; in safetensors, the key of `__metadata__`.
inline constexpr const char* tree_attribute = "ckpt_tree";

/// Returns the text that keeps a tree: its format's name, a space, and its bytes in base64.
std::string kept_tree_text(std::string_view format, std::string_view tree);

/// Returns the tree in such a text. Throws input for any other text.
std::string kept_tree(std::string_view text);

/// Returns the format of a file's tree, its own or one that it keeps; empty if it has none.
std::string_view tree_format(const Schema& schema);

}  // namespace ckpt
