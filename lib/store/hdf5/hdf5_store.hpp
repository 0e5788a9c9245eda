#pragma once

#include <cstdint>
#include <memory>

#include "store/store.hpp"

namespace ckpt {

std::unique_ptr<Store> hdf5_store();

/// The same, whose catalogs' values of variable length take no more than so many bytes, of all files together: more
/// throws input.
std::unique_ptr<Store> hdf5_store_within(std::uint64_t value_bytes);

}  // namespace ckpt
