#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ckpt::hdf5 {

/// Groups inside groups, the root among them, deeper than which nothing sane goes: a dataset's name has as many parts
/// at most.
inline constexpr std::size_t max_levels = 128;

/// As Store::check_names.
void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups);

}  // namespace ckpt::hdf5
