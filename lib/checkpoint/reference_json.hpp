#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// The index of a model in several safetensors files (`model.safetensors.index.json`): which file holds each tensor.
struct WeightMap {
  std::map<std::string, std::string> file_of;  ///< tensor name to the name of a file beside the index
};

/// Parses a reference's JSON text: an index, or tensors as `{name: {"shape": [2, 3], "dtype": "bf16"}}`, with our names
/// of dtypes or those of numpy, torch and safetensors. Throws layout with the JSON pointer for a repeated or unknown
/// key and an invalid shape or dtype.
std::variant<WeightMap, std::vector<Tensor>> parse_reference(const std::string& text, const std::string& origin);

}  // namespace ckpt
