#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt::tensorflow {

/// The numbers of tensorflow/core/framework/types.proto that are no number types.
inline constexpr std::uint32_t string_number = 7;
inline constexpr std::uint32_t resource_number = 20;
inline constexpr std::uint32_t variant_number = 21;

/// A type of TensorFlow's.
struct ElementType {
  DType dtype;
  /// The type's own name if `dtype` is only the integer in which each element lies: a quantised or 4-bit number, which
  /// TensorFlow stores in a byte of its own.
  std::string_view mark;
};

/// Returns nothing for numbers of no fixed-size elements, and for unknown ones.
std::optional<ElementType> element_type(std::uint32_t number);

/// Returns the number of a type; `mark` may be empty, or a name as above. 0 if TensorFlow has no such type.
std::uint32_t number_of(const DType& dtype, std::string_view mark);

}  // namespace ckpt::tensorflow
