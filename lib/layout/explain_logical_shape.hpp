#pragma once

#include <string>

#include "layout/placement.hpp"

namespace ckpt {

/// Which other way of cutting a parameter, over the axes of its mesh, would give it another logical shape, by what its
/// cards store: "dim 1 over tp=4 would fit". Nothing where there is none, or the stored shapes do not tell.
std::string explain_logical_shape(const Placement& placement, ParameterId parameter, const Extents& expected);

}  // namespace ckpt
