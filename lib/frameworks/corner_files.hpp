#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frameworks/rank_families.hpp"
#include "store/catalog.hpp"

/// Safetensors files that ranks of torch.distributed.checkpoint wrote, each piece with its corner:
/// shard-00002-model-00001-of-00003.safetensors. https://github.com/pytorch/pytorch,
/// torch/distributed/checkpoint/hf_storage.py
namespace ckpt {

/// All such files, recognised by their content, each as a rank's; one rank may have several with different tensors.
/// Reports other files beside them. Nothing where there are none. `names` and `catalogs` are parallel.
std::optional<RankFamily> corner_family(const std::vector<std::string>& names,
                                        const std::vector<FileCatalog>& catalogs);

/// The files missing according to the numbers in the others' names; empty where the names have another form.
std::vector<std::string> missing_shards(const RankFamily& family, const std::vector<std::string>& names);

}  // namespace ckpt
