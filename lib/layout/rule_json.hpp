#pragma once

#include <string>

#include "layout/layout.hpp"

namespace ckpt {

/// The keys of a rule as JSON on one line, as to_json(layout) writes them: {"split": ["tp"]}. Equal texts say the same.
std::string to_json(const Keys& keys, const Mesh& mesh);

/// An entry of `indices`, likewise.
std::string to_json(const IndexRule& index, const Mesh& mesh);

/// A mesh, likewise.
std::string to_json(const Mesh& mesh);

}  // namespace ckpt
