#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ckpt {

/// The space that is free for an output, which need not exist yet; nothing if the file system does not say.
std::optional<std::uint64_t> free_space(const std::filesystem::path& output);

/// Throws io if the file system of an output, which need not exist yet, has less than `bytes` for it besides what an
/// earlier run left in DST.partial. Does nothing if the free space is unknown.
void check_free_space(const std::filesystem::path& output, std::uint64_t bytes);

}  // namespace ckpt
