#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// NumPy's files: .npz, and .npy with one array. They are only read.
std::unique_ptr<Store> npz_store();

}  // namespace ckpt
