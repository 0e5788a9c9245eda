#pragma once

#include <set>
#include <string>
#include <vector>

#include "diagnosis/axis_copies.hpp"
#include "layout/language/layout_changes.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt {

/// The layout with a separate axis in the mesh for copies that would lie within another axis, at its end or its
/// beginning, in each size and under each possible name.
std::vector<LayoutChange> meshes_with_copies(const Layout& layout);

/// The text of a layout whose mesh has a separate axis for copies that lie within another axis: `"mesh": {…}`, and the
/// entries of `indices` that change with it. `counted_on`: entries whose names differ from copy to copy, and which
/// continue to count over both axes. Empty if such a layout would not fit these files, or would not give `example` that
/// many more copies.
std::string layout_with_copies(const Placement& placement, const std::vector<CardArrays>& files,
                               const AxisCopies& copies, ParameterId example,
                               const std::set<std::uint64_t>& counted_on);

}  // namespace ckpt
