#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ckpt {

/// The likely kind of a file that is not a checkpoint.
struct LikelyContent {
  std::string what;      ///< "text", "gzip data", "a Git LFS pointer"; empty where its bytes tell nothing
  std::string remedy;    ///< what to do about it; may be empty
  bool is_lost = false;  ///< it stands for a file whose data is elsewhere, or gone
  bool is_pickle = false;

  /// "; it seems to be text", to go on with; empty where nothing is known.
  std::string seeming() const { return what.empty() ? "" : "; it seems to be " + what; }
};

/// By the file's first and last bytes, and where these leave it open by its name.
LikelyContent likely_content(const std::filesystem::path& file);
/// The same where all of its bytes are known.
LikelyContent likely_content(const std::filesystem::path& file, std::string_view bytes);

/// The error of a file that is there and seems to be something else than is expected of it; nothing where its bytes
/// tell nothing.
std::optional<Error> unlike(const std::filesystem::path& file, const std::string& expected);

}  // namespace ckpt
