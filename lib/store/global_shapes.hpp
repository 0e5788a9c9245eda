#pragma once

#include <map>
#include <string>

#include "store/store.hpp"

namespace ckpt {

/// Logical shapes by tensor, for formats without a field for FileSpec::Array::global_shape.
using GlobalShapes = std::map<std::string, Shape>;

/// Returns the logical shapes of a specification as JSON; empty if it has none.
std::string global_shapes_text(const FileSpec& spec);

/// Parses the output of global_shapes_text; an empty text has no shapes. Throws input, naming `origin`, for other
/// texts.
GlobalShapes parse_global_shapes(const std::string& text, const std::string& origin);

}  // namespace ckpt
