#pragma once

#include <optional>

#include "store/torch/pickle.hpp"
#include "store/value.hpp"

namespace ckpt::torch {

/// Whether a tree can hold a value: no value, a number or a text, or a list of them.
bool is_held(const Value& value);

/// The node that it is there, added to a pickle; the value must be held.
PickleId add_value(Pickle& pickle, const Value& value);

PickleId add_text(Pickle& pickle, std::string text);
PickleId add_integer(Pickle& pickle, std::int64_t number);

}  // namespace ckpt::torch
