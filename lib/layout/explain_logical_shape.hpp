#pragma once

#include <optional>
#include <string>

#include "layout/placement.hpp"

namespace ckpt {

/// The shape that a card which holds a parameter stores of it, in the order of the logical dimensions; nothing where it
/// is stored in another form (a bucket's member, a flat, boxes).
std::optional<Extents> local_shape_of(const Placement& placement, ParameterId parameter);

/// Which other way of cutting a parameter, over the axes of its mesh, would give it another logical shape, by what its
/// cards store: "dim 1 over tp=4 would fit". Nothing where there is none, or the stored shapes do not tell.
std::string explain_logical_shape(const Placement& placement, ParameterId parameter, const Extents& expected);

}  // namespace ckpt
