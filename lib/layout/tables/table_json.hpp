#pragma once

#include <string>

#include "layout/tables/keyed_table.hpp"

namespace ckpt {

/// Returns a step of `place` in the layout language, on one line: {"mod": 1000}.
std::string to_json(const PlaceStep& step);

}  // namespace ckpt
