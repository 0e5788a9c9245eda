#pragma once

#include <string>

#include "store/hdf5/library.hpp"
#include "tensor/dtype.hpp"

namespace ckpt::hdf5 {

/// What a type is made of, as far as it decides how values are moved.
struct TypeTraits {
  bool variable_length = false;  ///< has variable-length parts, at any depth
  bool reference = false;        ///< has references to objects or regions, at any depth
};

TypeTraits traits_of(hid_t type);

/// The canonical name (see DType::name), size and encoding of a type in memory form, as H5Dget_type and H5Aget_type
/// give it. Throws input for what is no type of elements.
DType describe(hid_t type);

/// Encodings that are the same for equal types and extents, whatever file they come from. What is decoded is shared: it
/// must not be changed.
std::string encode_type(hid_t type);
TypeId decode_type(const std::string& encoded);
std::string encode_space(hid_t space);
SpaceId decode_space(const std::string& encoded);

/// A type as a value of its own: not committed to a file.
TypeId transient(TypeId type);

}  // namespace ckpt::hdf5
