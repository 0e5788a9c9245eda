#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frameworks/directory_description.hpp"

namespace ckpt {

/// The layout of files that a job's ranks saved, one each, if some of their tensors describe themselves as pieces:
/// DTensors (verl, accelerate), ShardedTensors (FSDP1), and the safetensors of DCP; else nothing. The last number in a
/// file's name is its rank. If there are several kinds of files (model_world_size_8_rank_0.pt and
/// optim_world_size_8_rank_0.pt), each kind is a prefix of its tensors' names ("model/"). `names` and `catalogs` are
/// parallel; the result has the files of which more is known now. Throws input if the files contradict each other.
std::optional<DirectoryDescription> describe_rank_files(const std::vector<std::string>& names,
                                                        const std::vector<FileCatalog>& catalogs,
                                                        const std::string& origin);

}  // namespace ckpt
