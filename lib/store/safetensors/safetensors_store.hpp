#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

std::unique_ptr<Store> safetensors_store();

}  // namespace ckpt
