#pragma once

#include <string>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Returns the matrices, in groups, whose names are usually those of fused ones (Q, K and V, gate and up) and that a
/// rule cuts as a whole, without `parts`: right where cards have whole heads or pairs, else a wrong order of rows that
/// no shape shows. `"parts"` with `"count": 1` says that it is meant. Axes of data parallelism cut rows alone.
std::vector<std::string> fused_without_parts(const Placement& placement);

}  // namespace ckpt
