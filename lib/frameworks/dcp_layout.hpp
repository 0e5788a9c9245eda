#pragma once

#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// The name that torch.distributed.checkpoint gives to what stands in groups: "model/layers" → "model.layers".
std::string dcp_tensor_name(const std::string& name);

/// The layout of a directory of torch.distributed.checkpoint in which each card of `target` stores its pieces of the
/// first copy of each tensor, as boxes: in __{card}_0.distcp, and in __{card}_1.distcp and so on where it holds several
/// pieces of one tensor. A file in which nothing would be is not there. `names`: of the tensors, by their numbers; one
/// without a name is left out.
/// Throws layout where there would be more than max_cards files.
Layout dcp_layout(const Placement& target, const std::vector<std::string>& names);

}  // namespace ckpt
