#include "store/kept_tree.hpp"

#include <algorithm>

#include "base/base64.hpp"
#include "base/error.hpp"

namespace ckpt {

std::string kept_tree_text(std::string_view format, std::string_view tree) {
  return std::string(format) + " " + to_base64(tree);
}

std::string kept_tree(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  auto tree = from_base64(text.substr(std::min(space + 1, text.size())));
  if (space == 0 || space == text.size() || !tree)
    throw Error(Kind::input, tree_attribute,
                {"found another text than these programs write", "a format's name and a tree in base64",
                 "take another copy of the file, or remove the attribute"});
  return std::move(*tree);
}

std::string_view tree_format(const Schema& schema) {
  if (schema.has_tree) return schema.format;
  return std::string_view(schema.kept_tree).substr(0, schema.kept_tree.find(' '));
}

}  // namespace ckpt
