#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/value.hpp"
#include "tensor/dtype.hpp"

namespace ckpt::hdf5 {

/// The attribute by which a dataset says what its bytes are, where the writer had no HDF5 type for it.
inline constexpr const char* dtype_attribute = "dtype";

/// What the elements of a dataset are, which its type alone may not say: opaque bytes and integers that its attribute
/// `dtype`, or an opaque type's tag, calls a float of one or two bytes in any known spelling ("bfloat16",
/// "torch.bfloat16", "F8_E4M3"); and opaque elements of two bytes that nothing is said of: so h5py stores bfloat16 of
/// ml_dtypes. The HDF5 type stays what it is.
DType interpreted(const DType& dtype, const std::vector<Attribute>& attributes);

/// Numbers that a dataset of another type holds, whose HDF5 type stays.
DType stored_as(DType number, const DType& stored);

/// What `dtype_attribute` must say for `interpreted` to give this type again; nothing where the HDF5 type says enough.
std::optional<std::string> mark_for(const DType& dtype);

}  // namespace ckpt::hdf5
