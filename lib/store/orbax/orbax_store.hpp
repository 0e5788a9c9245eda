#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// Checkpoints of Orbax (JAX): an item, which its `manifest.ocdbt` or `_METADATA` stands for. They are only read.
std::unique_ptr<Store> orbax_store();

}  // namespace ckpt
