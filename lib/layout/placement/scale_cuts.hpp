#pragma once

#include <map>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Throws layout if a placement cuts a quantised tensor differently from its companions (`number_ties`): if the scale
/// of a cut tensor is whole, is cut over other cards, or within a block that shares one scale; or if the table of codes
/// is cut. Returns only warnings about such a cut if the source is cut in the same way (`source_of`: the source's
/// parameter for each of the target's), or if a rule names the scale and leaves it whole. Pieces of flat buffers and
/// explicit boxes are not checked.
std::vector<std::string> check_scale_cuts(const Placement& target, const Placement& source,
                                          const std::vector<ParameterId>& source_of);

/// Throws layout if a card's piece of a parameter begins or ends within one of its units. `units`: by name, in each
/// dimension.
void check_whole_units(const Placement& placement, const std::map<std::string, Shape>& units);

}  // namespace ckpt
