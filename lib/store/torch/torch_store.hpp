#pragma once

#include "store/store.hpp"

namespace ckpt {

/// Reads what torch.save writes (.pt, .pth, .bin): nothing that such a file says is run. Tensors are reached where they
/// lie. Not written.
std::unique_ptr<SourceStore> torch_store();

}  // namespace ckpt
