#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ckpt {

/// A prefix that the names of only one side have: "model.layers.0.w" here, "layers.0.w" there.
struct PrefixChange {
  std::string prefix;                                        ///< "model.": whole components
  bool is_removed = true;                                    ///< true: the found names have it; false: the expected
                                                             ///< ones
  std::vector<std::pair<std::string, std::string>> renamed;  ///< the found names with the expected ones
  /// "model.{x}={x}", one in each line: renames these names, and none that both sides have; may be empty.
  std::string renames;

  /// Returns "'model.' before 28 names, for example model.layers.0.w for layers.0.w".
  std::string text() const;
};

/// Returns the prefix that explains at least half of the missing names, and at least two; nothing if none does. `found`
/// and `missing`: names that only one side has; `common`: those that both have.
std::optional<PrefixChange> prefix_change(const std::vector<std::string>& found,
                                          const std::vector<std::string>& missing,
                                          const std::vector<std::string>& common);

}  // namespace ckpt
