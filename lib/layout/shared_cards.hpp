#pragma once

#include <optional>

#include "layout/layout.hpp"

namespace ckpt {

/// Whether some card is at both: not where on some axis they have no coordinate in common.
bool share_a_card(const std::optional<At>& a, const std::optional<At>& b);

}  // namespace ckpt
