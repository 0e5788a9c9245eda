#pragma once

#include <cstdint>
#include <string_view>

#include "store/pickle/pickle.hpp"
#include "tensor/shape.hpp"

namespace ckpt::torch {

/// Returns an attribute of an object from its state: a dict, or a pair of a dict or None and a dict of the class's
/// slots. Returns no_node if there is none of this name.
PickleId field_of(const Pickle& pickle, PickleId object, std::string_view name);

/// Returns an attribute that must exist. Throws input, naming the object's class and the attribute.
PickleId need_field(const Pickle& pickle, PickleId object, std::string_view name);

/// Returns the name of an object's class, or of a call's function, without its module: modules move between versions.
std::string_view class_of(const Pickle& pickle, PickleId object);

bool is_none(const Pickle& pickle, PickleId id);

/// Return a non-negative number; the non-negative numbers of a tuple, a list or a torch.Size; a text. They throw input,
/// naming `what`.
std::uint64_t whole_number(const Pickle& pickle, PickleId id, std::string_view what);
Shape whole_numbers(const Pickle& pickle, PickleId id, std::string_view what);
std::string_view text_of(const Pickle& pickle, PickleId id, std::string_view what);

/// Returns the tuple inside a torch.Size; any other node is returned as it is.
PickleId list_of(const Pickle& pickle, PickleId id);

/// Returns the items of a tuple, a list or a torch.Size. Throws input.
const std::vector<PickleId>& items_in(const Pickle& pickle, PickleId id, std::string_view what);

}  // namespace ckpt::torch
