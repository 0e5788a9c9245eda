#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/catalog.hpp"

namespace ckpt {

/// Attributes as JSON, for formats that hold only texts, keyed by group (the root's path is empty) and name.
struct AttributesJson {
  std::string text;               ///< empty if there are no attributes to hold
  std::vector<std::string> lost;  ///< names of attributes that are neither numbers nor texts, nor lists of them
};
AttributesJson attributes_json(const std::vector<Attribute>& of_root, const std::vector<Group>& groups);

/// Adds the attributes that such a text holds: whole numbers become i64, others f64. Throws input, naming `origin`, for
/// any other text.
void add_attributes(const std::string& text, const std::string& origin, Schema& schema);

}  // namespace ckpt
