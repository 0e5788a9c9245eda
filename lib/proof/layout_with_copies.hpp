#pragma once

#include <set>
#include <string>
#include <vector>

#include "layout/layout_changes.hpp"
#include "layout/resolve.hpp"
#include "proof/axis_copies.hpp"

namespace ckpt {

/// The layout with an axis of its own in the mesh for copies that would lie within another axis, at its end or its
/// beginning, in each size and under each name that it may have.
std::vector<LayoutChange> meshes_with_copies(const Layout& layout);

/// How a layout would be written whose mesh has an axis of its own for copies that lie within another axis:
/// `"mesh": {…}`, and the entries of `indices` that change with it. `counted_on`: those whose names differ from copy to
/// copy, and which go on counting over both axes. Empty where such a layout would not fit these files, or would not
/// give `example` so many copies more.
std::string layout_with_copies(const Placement& placement, const std::vector<Holding>& files, const AxisCopies& copies,
                               ParameterId example, const std::set<std::uint64_t>& counted_on);

}  // namespace ckpt
