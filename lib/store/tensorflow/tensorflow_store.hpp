#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// TensorFlow's tensor bundles: their files are read together, as frameworks/tensorflow.cpp describes them, and written
/// one by one.
std::unique_ptr<Store> tensorflow_store();

/// The index of a bundle that is written.
inline constexpr const char* tensorflow_index = "model.ckpt.index";

}  // namespace ckpt
