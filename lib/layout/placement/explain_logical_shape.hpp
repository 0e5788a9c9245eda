#pragma once

#include <optional>
#include <string>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Returns the shape that a card which holds a parameter stores of it, in the order of the logical dimensions; nothing
/// if it is stored in another form (a bucket's member, a flat, boxes).
std::optional<Shape> local_shape_of(const Placement& placement, ParameterId parameter);

/// Finds another way to cut a parameter, over the axes of its mesh, that would give it the expected logical shape with
/// its stored pieces: "dim 1 over tp=4 would fit". Returns an empty text if there is none, or if the stored shapes do
/// not show it.
std::string explain_logical_shape(const Placement& placement, ParameterId parameter, const Shape& expected);

}  // namespace ckpt
