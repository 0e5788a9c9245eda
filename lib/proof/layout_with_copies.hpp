#pragma once

#include <set>
#include <string>
#include <vector>

#include "layout/resolve.hpp"
#include "proof/axis_copies.hpp"

namespace ckpt {

/// How a layout would be written whose mesh has an axis of its own for copies that lie within another axis:
/// `"mesh": {…}`, and the entries of `indices` that change with it. `counted_on`: those whose names differ from copy to
/// copy, and which go on counting over both axes. Empty where such a layout would not fit these files, or would not
/// give `example` so many copies more.
std::string layout_with_copies(const Placement& placement, const std::vector<Holding>& files, const AxisCopies& copies,
                               ParameterId example, const std::set<std::uint64_t>& counted_on);

}  // namespace ckpt
