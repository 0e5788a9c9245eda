#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// The directories of torch.distributed.checkpoint: their files are read together, as frameworks/dcp.cpp describes
/// them, and written one by one.
std::unique_ptr<Store> dcp_store();

/// Writes such directories in Megatron's variant; they are read like those of dcp_store.
std::unique_ptr<Store> torch_dist_store();

}  // namespace ckpt
