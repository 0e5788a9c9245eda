#pragma once

#include <cstdint>
#include <string_view>

#include "store/torch/pickle.hpp"
#include "tensor/extents.hpp"

namespace ckpt::torch {

/// An attribute of an object: of its state, which is a dict, or a dict or None and another of the class's slots.
/// no_node where it has none of the name.
PickleId field_of(const Pickle& pickle, PickleId object, std::string_view name);

/// An attribute that must be there. Throws input, naming the object's class and the attribute.
PickleId need_field(const Pickle& pickle, PickleId object, std::string_view name);

/// The name of the class of an object, or of the function of a call, without its module: modules move between versions.
std::string_view class_of(const Pickle& pickle, PickleId object);

bool is_none(const Pickle& pickle, PickleId id);

/// A number that is not negative; those of a tuple, a list or a torch.Size; a text. Throw input, naming what they are
/// for.
std::uint64_t whole_number(const Pickle& pickle, PickleId id, std::string_view what);
Extents whole_numbers(const Pickle& pickle, PickleId id, std::string_view what);
std::string_view text_of(const Pickle& pickle, PickleId id, std::string_view what);

/// The tuple that a torch.Size is made of; any other node itself.
PickleId list_of(const Pickle& pickle, PickleId id);

/// The items of a tuple, a list or a torch.Size. Throws input.
const std::vector<PickleId>& items_in(const Pickle& pickle, PickleId id, std::string_view what);

}  // namespace ckpt::torch
