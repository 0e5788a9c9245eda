#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt {

/// The attribute in which a dataset names its element type, if its writer's format had no type for it.
inline constexpr const char* dtype_attribute = "dtype";

/// Returns the type that a word means to numpy, torch, TensorFlow, JAX, safetensors or ckpt-reshard, with any module or
/// quotation around it: "torch.bfloat16", "BF16", "<dtype: 'bfloat16'>", "jnp.float8_e4m3fn". Nothing if it is unknown,
/// or ambiguous between several of them.
std::optional<DType> type_by_word(std::string_view word);

/// Returns whether a word seems to mean floats of this many bytes, even an unknown kind: "float8_e3m4" for 1, "tf32"
/// for 4.
bool seems_float(std::string_view word, std::uint64_t bytes);

}  // namespace ckpt
