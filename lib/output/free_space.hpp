#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ckpt {

/// The directory that an output will be in, or the nearest above it that exists.
std::filesystem::path existing_directory(const std::filesystem::path& output);

/// The space that is free for an output, which need not exist yet; nothing if the file system does not say.
std::optional<std::uint64_t> free_space(const std::filesystem::path& output);

/// Returns why the file system takes no `bytes` more for an output than an earlier run left in DST.partial, although
/// they are free: "Disk quota exceeded". It lets a file without a name have that room for a moment. Empty if it takes
/// them, or does not say.
std::string refused_room(const std::filesystem::path& output, std::uint64_t bytes);

/// Throws io if the file system of an output, which need not exist yet, has less than `bytes` for it besides what an
/// earlier run left in DST.partial, or refuses them. Does nothing if that is unknown.
void check_free_space(const std::filesystem::path& output, std::uint64_t bytes);

}  // namespace ckpt
