#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "paddle_files/text_output.hpp"

namespace ckpt {

/// What the first `bytes` of a file hold that an earlier run has written; of a compressed one all must be there.
/// Nothing where they are fewer, or do not end with a line.
std::optional<WrittenText> text_left(const std::filesystem::path& file, std::uint64_t bytes);

/// Makes that the whole file, and with `fsync` waits until it is on the disk.
void keep_left(const std::filesystem::path& file, const WrittenText& left, bool fsync);

}  // namespace ckpt
