#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// PaddlePaddle's binary files of variables: save_persistables, save_combine, .pdiparams. They are only read.
std::unique_ptr<Store> paddle_static_store();

}  // namespace ckpt
