#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/placement/cut.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// Explains the extents found in the pieces of one dimension, if the layout's cut does not: another way of cutting,
/// padding, parts along another dimension. Returns a question for the end of an error message, or nothing.
std::string explain_piece_sizes(const std::vector<std::uint64_t>& found, const CutSpec& spec);

/// Explains one stored shape that differs from the expected one: a transposed weight, an axis of another size. Returns
/// a question for the end of an error message, or nothing.
std::string explain_shape(const Shape& found, const Shape& expected, const Shape& logical,
                          const std::vector<CutSpec>& dims, const std::vector<std::string>& axis_names);

/// Explains a card's piece of a bucket whose length does not follow from its members and padding: how the layout
/// computes the length, which cards of the axis differ, and what would explain it. `found`: returns the array in a
/// card's file, or null.
Error::Text explain_piece(const Placement& placement, ArrayId array, Position position,
                          const std::function<const StoredArray*(Position)>& found);

}  // namespace ckpt
