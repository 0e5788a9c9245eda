#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace ckpt {

/// Returns the text of a file that should be small. Throws input, stating what the file is expected to be, if it is
/// larger than `most_bytes`: then it is another kind of file, which must not be read into memory.
std::string small_text(const std::filesystem::path& file, std::uint64_t most_bytes, const std::string& expected,
                       const Advice& advice = {});

}  // namespace ckpt
