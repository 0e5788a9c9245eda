#pragma once

#include <cstdint>
#include <filesystem>

namespace ckpt {

/// Throws io where the file system of an output, which need not be there yet, has less than `bytes` for it besides what
/// an earlier run has left in DST.partial. Where nobody can tell, nothing is said.
void check_free_space(const std::filesystem::path& output, std::uint64_t bytes);

}  // namespace ckpt
