#pragma once

#include <string>
#include <vector>

#include "layout/names/source_names.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// Throws input, naming card and parameter, if a card lacks what the placement puts on it, holds what it puts
/// elsewhere, or holds it in another shape or dtype; and if a file itself gives a parameter another shape with as many
/// elements: then its layout cuts another dimension. Returns warnings about files that say something else, which an
/// earlier job on some of them may have left: the layout takes precedence. The placement's parameters are those of
/// `names`, in the same order.
std::vector<std::string> check_cards(const Layout& layout, const SourceNames& names, const Placement& placement);

}  // namespace ckpt
