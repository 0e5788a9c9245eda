#pragma once

#include <string>
#include <vector>

#include "layout/cut.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// What would explain the extents that the pieces of one dimension were found to have, when the layout's cut does not:
/// another way of cutting, padding, parts in another place. A question for the end of an error message, or nothing.
std::string explain_extents(const std::vector<std::uint64_t>& found, const CutSpec& spec);

/// The same for one stored shape beside the expected one: a transposed weight, an axis of another size.
std::string explain_shape(const Extents& found, const Extents& expected, const Extents& logical,
                          const std::vector<CutSpec>& dims, const std::vector<std::string>& axis_names);

/// What a card stores of a bucket by its layout, in words: "50 of 197 (3 members of 197, each at a multiple of 4,
/// padded to 200, in 4 pieces over dp)".
std::string describe_bucket(const Placement& placement, ArrayId array, Position position);

/// What would explain that the pieces of a bucket were found with these lengths (by coordinate on its axis; -1: absent),
/// or nothing.
std::string explain_bucket(const Placement& placement, ArrayId array, Position position,
                           const std::vector<std::int64_t>& found);

}  // namespace ckpt
