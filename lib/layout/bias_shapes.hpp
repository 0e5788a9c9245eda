#pragma once

#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// A matrix "x.weight" (or "x.kernel") has as many rows, or columns, as its bias "x.bias" has elements. Gives a warning
/// for each kind of matrix that has not, though the bias is as long as what one card stores of the matrix along a
/// dimension that is split, or one card's part of a split bias as the whole matrix: one of the two is then split along
/// the wrong dimension, although both fit the stored shapes.
std::vector<std::string> unlike_biases(const Placement& placement);

}  // namespace ckpt
