#pragma once

#include <optional>

#include "layout/language/layout.hpp"

namespace ckpt {

/// Returns whether any card is at both places: false if they have no coordinate in common on some axis.
bool share_a_card(const std::optional<At>& a, const std::optional<At>& b);

}  // namespace ckpt
