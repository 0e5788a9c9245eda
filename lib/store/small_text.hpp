#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace ckpt {

/// The text of a file that is small by its nature. Throws input, with what the file is expected to be, where it is
/// larger than `most_bytes`: it is another file then, which must not be read into memory.
std::string small_text(const std::filesystem::path& file, std::uint64_t most_bytes, const std::string& expected,
                       const Advice& advice = {});

}  // namespace ckpt
