#pragma once

#include <memory>
#include <string_view>

#include "store/store.hpp"

namespace ckpt {

/// The beginning of written data files' names.
inline constexpr std::string_view orbax_data = "orbax_data_";

/// Checkpoints of Orbax (JAX): an item, which its `manifest.ocdbt` or `_METADATA` stands for.
std::unique_ptr<Store> orbax_store();

}  // namespace ckpt
