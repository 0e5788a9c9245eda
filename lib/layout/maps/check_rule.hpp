#pragma once

#include <set>
#include <string>

#include "layout/maps/name_map.hpp"

namespace ckpt {

/// Pairs the pieces of a rule's two sides. Throws layout if the rule is no bijection: each piece must have the same
/// axes on both sides, each once, and each axis a size.
void pair_pieces(MapRule& rule, const std::array<std::string, 2>& sides, const std::set<std::string>& sizes);

}  // namespace ckpt
