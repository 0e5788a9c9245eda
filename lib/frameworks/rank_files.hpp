#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frameworks/described.hpp"

namespace ckpt {

/// The layout of the files that a job's ranks have saved, each its own, where some of their tensors say which pieces
/// they are: DTensors (verl, accelerate), ShardedTensors (FSDP1), and the safetensors of DCP. A rank's number is the
/// last one in its file's name. Where there are files of several kinds (model_world_size_8_rank_0.pt and
/// optim_world_size_8_rank_0.pt), the names of each kind have that kind before them ("model/"). Nothing where no tensor
/// says so. `names` and `catalogs` are parallel; the result has those files of which more is known
/// now. Throws input for what does not fit
/// together.
std::optional<Described> describe_rank_files(const std::vector<std::string>& names,
                                             const std::vector<FileCatalog>& catalogs, const std::string& origin);

}  // namespace ckpt
