#pragma once

#include <nlohmann/json.hpp>

#include "store/value.hpp"

namespace ckpt::cli {

using Json = nlohmann::ordered_json;

/// An attribute's value as JSON: numbers, truth values and strings, alone or in a list; other and long values as their
/// dtype and shape.
Json attribute_value(const Value& value);

}  // namespace ckpt::cli
