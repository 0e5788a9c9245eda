#pragma once

#include <filesystem>
#include <string>

namespace ckpt {

/// What a file that is no checkpoint seems to be, by its first bytes: "text", "gzip data", "a Git LFS pointer"; empty
/// where they tell nothing.
std::string likely_content(const std::filesystem::path& file);

}  // namespace ckpt
