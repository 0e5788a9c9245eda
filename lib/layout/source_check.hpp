#pragma once

#include "layout/placement.hpp"
#include "layout/source_names.hpp"

namespace ckpt {

/// Throws input, naming card and parameter, where a card lacks what the placement puts on it, holds what it puts
/// elsewhere, or holds it in another shape or dtype. The placement's parameters are those of `names`, in their order.
void check_cards(const Layout& layout, const SourceNames& names, const Placement& placement);

}  // namespace ckpt
