#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ckpt {

/// A prefix that names have on one side alone: "model.layers.0.w" here, "layers.0.w" there.
struct PrefixChange {
  std::string prefix;                                        ///< "model.": whole components
  bool is_removed = true;                                    ///< the names that are found have it; else the others
  std::vector<std::pair<std::string, std::string>> renamed;  ///< the found names, and the expected ones
  /// "model.{x}={x}", one in each line: what renames these, and no name of both sides; may be empty.
  std::string renames;

  /// "'model.' before 28 names, for example model.layers.0.w for layers.0.w".
  std::string text() const;
};

/// The prefix that explains at least half of the names that are missing, and two of them; nothing where none does.
/// `found` and `missing`: the names that one side alone has; `common`: those of both.
std::optional<PrefixChange> prefix_change(const std::vector<std::string>& found,
                                          const std::vector<std::string>& missing,
                                          const std::vector<std::string>& common);

}  // namespace ckpt
