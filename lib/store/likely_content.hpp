#pragma once

#include <filesystem>
#include <string>

namespace ckpt {

/// What a file that is no checkpoint seems to be.
struct LikelyContent {
  std::string what;      ///< "text", "gzip data", "a Git LFS pointer"; empty where its bytes tell nothing
  std::string remedy;    ///< what to do about it; may be empty
  bool is_lost = false;  ///< it stands for a file whose data is elsewhere, or gone

  /// "; it seems to be text", to go on with; empty where nothing is known.
  std::string seeming() const { return what.empty() ? "" : "; it seems to be " + what; }
};

/// By the file's first and last bytes, and where these leave it open by its name.
LikelyContent likely_content(const std::filesystem::path& file);

}  // namespace ckpt
