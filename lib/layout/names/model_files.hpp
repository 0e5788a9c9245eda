#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// Returns the layout of a model in several files of whole tensors, in natural order, with as few files as keep each
/// within `most_bytes` of data; a larger tensor has a file of its own. The files have Hugging Face's names:
/// model-00001-of-00007.safetensors (`ending`: ".safetensors"; ".pt": pytorch_model-00001-of-00007.bin), and
/// model.safetensors for a single file. Throws usage for more than max_cards files.
Layout model_files(const std::vector<Tensor>& tensors, std::uint64_t most_bytes, std::string_view ending);

/// Returns the layout of such files in which each tensor lies with the others of its group; groups are numbered in the
/// order of their names in `group_of`, and tensors that it does not have lie in the last file.
Layout model_files_by_group(const std::vector<Tensor>& tensors, const std::map<std::string, std::string>& group_of,
                            std::string_view ending);

/// Returns the name of the index for such files: "model.safetensors.index.json".
std::string model_index_name(std::string_view ending);

/// Returns the JSON index of a model in files of whole tensors: the file of each tensor, and the bytes of all.
std::string model_index(const Placement& placement);

}  // namespace ckpt
