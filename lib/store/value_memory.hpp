#pragma once

#include <cstdint>

#include "store/catalog.hpp"

namespace ckpt {

/// What the values of variable length of a file's datasets take in memory: they are in its schema.
std::uint64_t value_bytes(const Schema& schema);

}  // namespace ckpt
