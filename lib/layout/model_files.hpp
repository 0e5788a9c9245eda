#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layout/layout.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// The layout of a model in several files that hold its tensors whole, one after another in natural order, in as many
/// as it takes for none to hold more than `most_bytes` of data; a larger tensor has one of its own. The files have the
/// names that Hugging Face's have: model-00001-of-00007.safetensors (`ending`: ".safetensors"; ".pt":
/// pytorch_model-00001-of-00007.bin), and model.safetensors where there is one alone. Throws usage where there would be
/// more than max_cards.
Layout model_files(const std::vector<Tensor>& tensors, std::uint64_t most_bytes, std::string_view ending);

/// The name of the index that goes with such files: "model.safetensors.index.json".
std::string model_index_name(std::string_view ending);

/// The index of a model in files that hold its tensors whole: which one holds each, and the bytes of all. JSON.
std::string model_index(const Placement& placement);

}  // namespace ckpt
