#pragma once

#include <vector>

#include "layout/layout.hpp"
#include "layout/pattern.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// A layout by which of the parameters whose names match the lowest card's copy counts, where cards hold copies; all
/// else is as it was. `holdings`: what each card holds, by position. Warns of patterns that match none.
Layout with_first_copies(Layout layout, const std::vector<Holding>& holdings, const std::vector<Pattern>& names);

}  // namespace ckpt
