#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ckpt {

/// The likely kind of a file that is not a checkpoint.
struct LikelyContent {
  std::string what;      ///< "text", "gzip data", "a Git LFS pointer"; empty if its bytes give no hint
  std::string remedy;    ///< what to do about it; may be empty
  bool is_lost = false;  ///< it is a placeholder for data that is elsewhere, or gone
  bool is_pickle = false;

  /// Returns "; it seems to be text", to append to a message; empty if nothing is known.
  std::string seeming() const { return what.empty() ? "" : "; it seems to be " + what; }
};

/// Judges by the file's first and last bytes, and, if these leave it open, by its name.
LikelyContent likely_content(const std::filesystem::path& file);
/// Judges by all bytes of the file.
LikelyContent likely_content(const std::filesystem::path& file, std::string_view bytes);

/// Returns an error for an existing file that seems to be something other than expected; nothing if its bytes give no
/// hint.
std::optional<Error> unlike(const std::filesystem::path& file, const std::string& expected);

}  // namespace ckpt
