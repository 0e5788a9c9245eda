#pragma once

#include <optional>

#include "store/hdf5/library.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt::hdf5 {

/// Properties of a type that decide how its values are moved.
struct TypeTraits {
  bool variable_length = false;  ///< contains variable-length parts, at any depth
  bool reference = false;        ///< contains references to objects or regions, at any depth
};

TypeTraits traits_of(hid_t type);

/// Takes a type in memory form, as H5Dget_type and H5Aget_type give it. The result's `native` is its H5Tencode
/// encoding, which is equal for equal types from any file; it is empty for types that `make_type` builds from kind,
/// size and order. Throws input if the type is not a type of elements.
DType describe(hid_t type);

/// Returns the HDF5 type of a dtype that `describe` or another file format gave. It is shared: do not modify it.
TypeId make_type(const DType& dtype);

/// Returns the H5Tencode encoding of a type from `make_type`.
std::string encoding_of(hid_t type);

/// Convert a dataspace to its extents (nothing for a null dataspace), and back.
std::optional<Shape> shape_of_space(hid_t space);
SpaceId make_space(const std::optional<Shape>& shape);

/// Copies a type, so that it is not committed to a file.
TypeId transient(TypeId type);

}  // namespace ckpt::hdf5
