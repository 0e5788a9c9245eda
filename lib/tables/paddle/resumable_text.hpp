#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "tables/paddle/text_output.hpp"

namespace ckpt {

/// Returns what the first `bytes` of a file from an earlier run hold; a compressed file must have exactly these.
/// Nothing if there are fewer, or they do not end with a line.
std::optional<WrittenText> resumable_text(const std::filesystem::path& file, std::uint64_t bytes);

/// Truncates the file to that, and with `fsync` waits until it is on the disk.
void truncate_to(const std::filesystem::path& file, const WrittenText& left, bool fsync);

}  // namespace ckpt
