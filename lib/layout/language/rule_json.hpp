#pragma once

#include <string>

#include "layout/language/layout.hpp"

namespace ckpt {

/// Returns the keys of a rule as JSON on one line, as to_json(layout) writes them: {"split": ["tp"]}.
std::string to_json(const Keys& keys, const Mesh& mesh);

/// Returns an entry of `indices` as JSON on one line.
std::string to_json(const IndexRule& index, const Mesh& mesh);

/// Returns a mesh as JSON on one line.
std::string to_json(const Mesh& mesh);

}  // namespace ckpt
