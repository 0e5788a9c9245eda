#pragma once

#include <vector>

#include "layout/language/layout.hpp"
#include "layout/names/pattern.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// Changes a layout so that, for parameters whose names match, only the lowest card's copy counts; all else stays as it
/// was. `holdings`: what each card holds, by position. Warns of patterns that match none.
Layout with_first_copies(Layout layout, const std::vector<Holding>& holdings, const std::vector<Pattern>& names);

}  // namespace ckpt
