#pragma once

#include <string>

#include "layout/language/mesh.hpp"
#include "tables/language/keyed_table.hpp"

namespace ckpt {

/// Returns a table in the layout language, on one line.
std::string to_json(const KeyedTable& table, const Mesh& mesh);

/// Returns a step of `place` in the layout language, on one line: {"mod": 1000}.
std::string to_json(const PlaceStep& step);

}  // namespace ckpt
