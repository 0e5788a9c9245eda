#pragma once

#include <string>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// A matrix "x.weight" (or "x.kernel") should have as many rows, or columns, as its bias "x.bias" has elements. Returns
/// a warning for each kind of matrix that does not, if the bias is as long as one card's part of the matrix along a
/// split dimension, or if one card's part of a split bias is as long as the whole matrix. Then one of the two is split
/// along the wrong dimension, although both fit the stored shapes.
std::vector<std::string> bias_shape_warnings(const Placement& placement);

}  // namespace ckpt
