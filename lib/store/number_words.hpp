#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt {

/// The type that a word means to numpy, torch, TensorFlow, JAX, safetensors or these programs, in whatever module or
/// quotation it stands: "torch.bfloat16", "BF16", "<dtype: 'bfloat16'>", "jnp.float8_e4m3fn". Nothing where it is not
/// known, or means different types to several of them.
std::optional<DType> type_by_word(std::string_view word);

/// Whether a word seems to mean floats of so many bytes, known or not: "float8_e3m4" for 1, "tf32" for 4.
bool seems_float(std::string_view word, std::uint64_t bytes);

}  // namespace ckpt
