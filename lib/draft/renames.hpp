#pragma once

#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt::drafting {

/// Entries of `rename` that give stored names which the reference lacks names that it has: components that a wrapper
/// has put into them ("module.") taken out again. Those that explain the most names come first; none that would give
/// two arrays one name.
std::vector<Rename> find_renames(const std::vector<std::string>& stored, const std::vector<std::string>& expected);

}  // namespace ckpt::drafting
