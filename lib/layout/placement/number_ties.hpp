#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Relates a tensor of a quantised model to another, without which its numbers mean nothing.
struct NumberTie {
  enum class Role {
    codes,  ///< 8-bit floats, and integers or opaque bytes that hold smaller numbers
    scale,  ///< numbers that codes are multiplied by or counted from: scales, zero points, absmax
    table,  ///< tables that decode or describe codes: quant_map, quant_state
  };
  Role role = Role::codes;
  std::string codes = {};  ///< for a scale or table: the tensor that it belongs to, if known
};

/// Returns the tie of each tensor, or nothing, from its dtype, its name, and its neighbours, as DeepSeek's fp8, GPTQ,
/// AWQ, bitsandbytes, MXFP4, compressed-tensors, ModelOpt, HQQ and torchao store quantised weights. A `scale` without
/// codes, such as that of a norm, has no tie. Bytes without a type of their own are codes only if something belongs to
/// them. `beside`: additional tensors of the same model, for which no ties are returned.
std::vector<std::optional<NumberTie>> number_ties(const std::vector<Tensor>& tensors,
                                                  const std::vector<Tensor>& beside = {});

}  // namespace ckpt
