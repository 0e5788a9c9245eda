#pragma once

#include <optional>

#include "store/pickle/pickle.hpp"
#include "store/value.hpp"

namespace ckpt::torch {

/// Returns whether a tree can hold a value: no value, a number or a text, or a list of them.
bool is_held(const Value& value);

/// Adds the value's node to a pickle; `is_held` must be true.
PickleId add_value(Pickle& pickle, const Value& value);

PickleId add_text(Pickle& pickle, std::string text);
PickleId add_integer(Pickle& pickle, std::int64_t number);

}  // namespace ckpt::torch
