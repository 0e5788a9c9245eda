#pragma once

#include <optional>
#include <string>

#include "store/catalog.hpp"
#include "store/pickle/opaque.hpp"
#include "store/pickle/pickle.hpp"
#include "store/value.hpp"

namespace ckpt::torch {

/// Returns the value of a number, a text, None (a value without a shape), or a list of texts or of numbers of one kind;
/// nothing for anything else, or if it is too large for an attribute.
std::optional<Value> leaf_value(const Pickle& pickle, PickleId id);

/// Returns a list of numbers and texts, or an empty dict, as JSON; empty for anything else, or if it is too large.
std::string leaf_json(const Pickle& pickle, PickleId id);

/// Returns the catalog's entry for a value that is no attribute.
Leaf leaf_of(const Pickle& pickle, const Opaque& found, PickleId id, std::string name);

/// Describes a node in words: "argparse.Namespace", "12 bytes".
std::string describe(const Pickle& pickle, PickleId id);

}  // namespace ckpt::torch
