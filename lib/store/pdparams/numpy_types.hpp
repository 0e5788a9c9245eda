#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt::pdparams {

/// The type of an array of NumPy.
struct NumpyType {
  std::string torch_name;   ///< "torch.float32"; "numpy.>f4" for a type that torch does not have
  std::uint64_t bytes = 0;  ///< of an element; 0: unknown
  std::optional<DType> dtype = {};
};

/// Returns the type with this name: its byte order, then kind and size ("<f4"). NumPy has no bfloat16, and Paddle no
/// uint16: in Paddle's files, the latter stands for the former.
NumpyType numpy_type(const std::string& name, bool is_of_paddle);

/// Returns NumPy's name of a type, with its byte order; empty if Paddle's files cannot hold it.
std::string_view numpy_name(const DType& dtype);

}  // namespace ckpt::pdparams
