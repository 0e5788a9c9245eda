#pragma once

#include <cstdint>

#include "store/catalog.hpp"

namespace ckpt {

/// Returns the memory that the variable-length values of a file's datasets take, which its schema contains.
std::uint64_t value_bytes(const Schema& schema);

}  // namespace ckpt
