#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/value.hpp"
#include "tensor/dtype.hpp"

namespace ckpt::hdf5 {

/// Returns the real type of a dataset's elements, which its HDF5 type alone may not tell. Opaque bytes and integers are
/// floats of one or two bytes if the attribute `dtype`, or an opaque type's tag, says so in any known spelling
/// ("bfloat16", "torch.bfloat16", "F8_E4M3"). Unmarked opaque elements of two bytes are bfloat16, since h5py stores the
/// bfloat16 of ml_dtypes so. The HDF5 type stays unchanged.
DType interpreted(const DType& dtype, const std::vector<Attribute>& attributes);

/// Returns the type of numbers that a dataset of another type holds; the HDF5 type is kept.
DType stored_as(DType number, const DType& stored);

/// Returns the value that `dtype_attribute` needs for `interpreted` to give this type again; nothing if the HDF5 type
/// suffices.
std::optional<std::string> mark_for(const DType& dtype);

}  // namespace ckpt::hdf5
