#pragma once

#include <optional>
#include <string>

#include "store/catalog.hpp"
#include "store/torch/opaque.hpp"
#include "store/torch/pickle.hpp"
#include "store/value.hpp"

namespace ckpt::torch {

/// The value of a number, a text, None (a value without a shape), or a list of numbers of one kind or of texts; nothing
/// for what is something else, or too large for an attribute.
std::optional<Value> leaf_value(const Pickle& pickle, PickleId id);

/// A list of numbers and texts, or an empty dict, as JSON; empty for what is something else, or too large.
std::string leaf_json(const Pickle& pickle, PickleId id);

/// What a catalog tells of a value that is no attribute.
Leaf leaf_of(const Pickle& pickle, const Opaque& found, PickleId id, std::string name);

/// What a node is, in words: "argparse.Namespace", "12 bytes".
std::string describe(const Pickle& pickle, PickleId id);

}  // namespace ckpt::torch
