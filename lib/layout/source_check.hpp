#pragma once

#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "layout/source_names.hpp"

namespace ckpt {

/// Throws input, naming card and parameter, where a card lacks what the placement puts on it, holds what it puts
/// elsewhere, or holds it in another shape or dtype; and where a file says itself that a parameter has another shape
/// with as many elements: then its layout cuts another dimension. Gives warnings of files that say something else,
/// which an earlier job on a part of them may have left: the layout counts. The placement's parameters are those of
/// `names`, in their order.
std::vector<std::string> check_cards(const Layout& layout, const SourceNames& names, const Placement& placement);

}  // namespace ckpt
