#pragma once

#include <string>
#include <string_view>

#include "store/catalog.hpp"

/// Trees (SourceStore::tree) in files of formats that have none: a text beside the attributes of the root group.
namespace ckpt {

/// The attribute's name; in safetensors, the key of `__metadata__`.
inline constexpr const char* tree_attribute = "ckpt_tree";

/// The text that keeps a tree: its format's name, a space, and its bytes in base64.
std::string kept_tree_text(std::string_view format, std::string_view tree);

/// The tree in such a text. Throws input for another one.
std::string kept_tree(std::string_view text);

/// Which format's tree a file has, its own or one that it keeps; empty where it has none.
std::string_view tree_format(const Schema& schema);

}  // namespace ckpt
