#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// The directories of torch.distributed.checkpoint: their files are read as frameworks/dcp.cpp describes them,
/// together, and written one by one.
std::unique_ptr<Store> dcp_store();

/// The same, as Megatron puts them together: what it writes is read as the above.
std::unique_ptr<Store> torch_dist_store();

}  // namespace ckpt
