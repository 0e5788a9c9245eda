#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/cut.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// What would explain the extents that the pieces of one dimension were found to have, when the layout's cut does not:
/// another way of cutting, padding, parts in another place. A question for the end of an error message, or nothing.
std::string explain_extents(const std::vector<std::uint64_t>& found, const CutSpec& spec);

/// The same for one stored shape beside the expected one: a transposed weight, an axis of another size.
std::string explain_shape(const Extents& found, const Extents& expected, const Extents& logical,
                          const std::vector<CutSpec>& dims, const std::vector<std::string>& axis_names);

/// What is wrong with a card's piece of a bucket that is not as long as its members and padding say: how the layout
/// comes to the length, which cards of the axis differ, and what would explain it. `found`: what a card's file has of
/// it, or null.
Error::Text explain_piece(const Placement& placement, ArrayId array, Position position,
                          const std::function<const StoredArray*(Position)>& found);

}  // namespace ckpt
