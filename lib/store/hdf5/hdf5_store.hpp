#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// Its catalogs' values of variable length take no more than so many bytes, of all files together: more throws input.
std::unique_ptr<Store> hdf5_store(std::uint64_t value_bytes = std::numeric_limits<std::uint64_t>::max());

}  // namespace ckpt
