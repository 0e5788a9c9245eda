#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// Files of paddle.save: .pdparams, .pdopt.
std::unique_ptr<Store> paddle_store();

}  // namespace ckpt
