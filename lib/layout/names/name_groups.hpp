#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// Splits a name into text and numbers, alternating; the first is text, which may be empty.
std::vector<std::string> text_and_numbers(std::string_view name);

/// Returns whether two texts differ only in their numbers.
bool differ_in_numbers(std::string_view a, std::string_view b);

/// Names that differ only in numbers, represented by one pattern: "layers.*.x" stands for layers.0.x, layers.1.x and so
/// on. A number that all of them share is kept.
struct NameGroup {
  std::string pattern;
  std::vector<std::string> names;  ///< in the order given
};

/// Returns groups in the order of their first names.
std::vector<NameGroup> group_names(const std::vector<std::string>& names);

/// Returns one text for each group, for a message: {"layers.*.x: 12 parameters", "bias"}.
std::vector<std::string> describe_groups(const std::vector<NameGroup>& groups);

}  // namespace ckpt
