#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Why a tensor's numbers mean something only together with another's: it is one of a quantised model's.
struct NumberTie {
  enum class Role {
    codes,  ///< 8-bit floats, and integers or opaque bytes that hold smaller numbers
    scale,  ///< what codes are multiplied by or counted from: scales, zero points, absmax
    table,  ///< what codes are looked up in, or are described by: quant_map, quant_state
  };
  Role role = Role::codes;
  std::string codes = {};  ///< of a scale or table: the tensor that it belongs to, where that is known
};

/// For each tensor its tie, or nothing: by its dtype, by its name, and by what is beside it, as DeepSeek's fp8, GPTQ,
/// AWQ, bitsandbytes, MXFP4, compressed-tensors, ModelOpt, HQQ and torchao store quantised weights. A `scale` beside no
/// codes, as that of a norm, has none. Bytes without a type of their own are codes only where something belongs to
/// them. `beside`: tensors of the same model that nobody asks about.
std::vector<std::optional<NumberTie>> number_ties(const std::vector<Tensor>& tensors,
                                                  const std::vector<Tensor>& beside = {});

}  // namespace ckpt
