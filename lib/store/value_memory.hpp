#pragma once

#include <cstdint>
#include <vector>

#include "store/catalog.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// What the values of variable length of a file's datasets take in memory: they are in its schema.
std::uint64_t value_bytes(const Schema& schema);

/// The formats, with so much memory for such values of all files together that a store catalogs: more throws input.
std::vector<Format> formats_within(std::uint64_t value_bytes);

}  // namespace ckpt
