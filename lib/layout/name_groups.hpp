#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// A name cut into text and numbers, in turn: it begins with text, which may be empty.
std::vector<std::string> text_and_numbers(std::string_view name);

/// Whether two texts are the same but for their numbers.
bool differ_in_numbers(std::string_view a, std::string_view b);

/// Names that differ in numbers only, as one: "layers.*.x" stands for layers.0.x, layers.1.x and so on. A number that
/// all of them share stays.
struct NameGroup {
  std::string pattern;
  std::vector<std::string> names;  ///< in the order in which they were given
};

/// In the order of their first names.
std::vector<NameGroup> group_names(const std::vector<std::string>& names);

/// {"layers.*.x: 12 parameters", "bias"}: one for each group, for a message.
std::vector<std::string> describe_groups(const std::vector<NameGroup>& groups);

}  // namespace ckpt
