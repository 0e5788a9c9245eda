#pragma once

#include <string>
#include <vector>

#include "layout/language/layout.hpp"

namespace ckpt::drafting {

/// Entries of `rename` that give stored names unknown to the reference names that it knows, by removing components that
/// a wrapper added ("module."), or by writing groups ("layers/0/w") with dots. Those that explain the most names come
/// first; leaves out entries that would give two arrays one name.
std::vector<Rename> find_renames(const std::vector<std::string>& stored, const std::vector<std::string>& expected);

}  // namespace ckpt::drafting
