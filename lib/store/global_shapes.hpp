#pragma once

#include <map>
#include <string>

#include "store/store.hpp"

namespace ckpt {

/// Logical shapes by tensor, for formats that have no place of their own for FileSpec::Array::global_shape.
using GlobalShapes = std::map<std::string, Extents>;

/// Those of a specification as JSON; empty where it has none.
std::string global_shapes_text(const FileSpec& spec);

/// What that wrote; none of an empty text. Throws input, naming `origin`, for other texts.
GlobalShapes parse_global_shapes(const std::string& text, const std::string& origin);

}  // namespace ckpt
