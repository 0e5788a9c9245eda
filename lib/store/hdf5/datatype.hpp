#pragma once

#include <optional>

#include "store/hdf5/library.hpp"
#include "tensor/dtype.hpp"
#include "tensor/extents.hpp"

namespace ckpt::hdf5 {

/// What a type is made of, as far as it decides how values are moved.
struct TypeTraits {
  bool variable_length = false;  ///< has variable-length parts, at any depth
  bool reference = false;        ///< has references to objects or regions, at any depth
};

TypeTraits traits_of(hid_t type);

/// A type in memory form, as H5Dget_type and H5Aget_type give it. Its `native` is what H5Tencode says of it, the same
/// for equal types, whatever file they come from; none for those that `make_type` makes from kind, size and order.
/// Throws input for what is no type of elements.
DType describe(hid_t type);

/// The type that `describe` gave, or that another file format has. It is shared: it must not be changed.
TypeId make_type(const DType& dtype);

/// What H5Tencode says of a type that `make_type` gave.
std::string encoding_of(hid_t type);

/// A dataspace's extents, or nothing for a null one; and back.
std::optional<Extents> extents_of(hid_t space);
SpaceId make_space(const std::optional<Extents>& shape);

/// A type as a value of its own: not committed to a file.
TypeId transient(TypeId type);

}  // namespace ckpt::hdf5
