#pragma once

#include <string>
#include <vector>

namespace ckpt {

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
