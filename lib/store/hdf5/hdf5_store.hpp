#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

std::unique_ptr<Store> hdf5_store();

}  // namespace ckpt
