#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ckpt::cli {

/// Names that differ only in numbers, as one text: "layers.{0-31}.w" stands for layers.0.w to layers.31.w.
struct NameRange {
  std::string text;
  std::vector<std::size_t> members;  ///< indices into the names that were given
};

/// Each name in one range, and each range for exactly its names: "{0-1}.{0-1}" for all four of them only. In the order
/// of their first names.
std::vector<NameRange> name_ranges(const std::vector<std::string>& names);

}  // namespace ckpt::cli
