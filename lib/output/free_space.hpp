#pragma once

#include <cstdint>
#include <filesystem>

namespace ckpt {

/// Throws io if the file system of an output, which need not exist yet, has less than `bytes` for it besides what an
/// earlier run left in DST.partial. Does nothing if the free space is unknown.
void check_free_space(const std::filesystem::path& output, std::uint64_t bytes);

}  // namespace ckpt
