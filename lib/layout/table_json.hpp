#pragma once

#include <string>

#include "layout/keyed_table.hpp"
#include "layout/mesh.hpp"

namespace ckpt {

/// A table as the layout language has it, on one line.
std::string to_json(const KeyedTable& table, const Mesh& mesh);

/// A step of `place` likewise: {"mod": 1000}.
std::string to_json(const PlaceStep& step);

}  // namespace ckpt
