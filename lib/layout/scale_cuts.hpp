#pragma once

#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Throws layout where a placement cuts a quantised tensor and what belongs to it apart (`number_ties`): where the
/// scale of a tensor that is cut stays whole, is cut over other cards, or within a block that one scale stands for; or
/// where the table of codes is cut. Such a cut is only told of in the warnings that it gives where the source is cut
/// so, too (`source_of`: the source's parameter of each of the target's), or where a rule names the scale and leaves it
/// whole. Pieces of flat buffers and explicit boxes are not looked at.
std::vector<std::string> check_scale_cuts(const Placement& target, const Placement& source,
                                          const std::vector<ParameterId>& source_of);

}  // namespace ckpt
