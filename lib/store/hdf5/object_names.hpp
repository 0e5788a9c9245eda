#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ckpt::hdf5 {

/// Limit on nested groups, including the root, deeper than any sane file. A dataset's name has at most as many parts.
inline constexpr std::size_t max_levels = 128;

/// Checks names as Store::check_names does.
void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups);

}  // namespace ckpt::hdf5
