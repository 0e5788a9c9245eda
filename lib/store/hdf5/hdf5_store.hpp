#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// `value_bytes`: limit on values of variable length in the catalogs of all files together. More throws input.
std::unique_ptr<Store> hdf5_store(std::uint64_t value_bytes = std::numeric_limits<std::uint64_t>::max());

}  // namespace ckpt
