#pragma once

#include "exchange/device_copy.hpp"

namespace ckpt {

/// What a GPU's grid does with a table of copies, one thread after the other.
inline void run_on_host(const CopyTableView& table, std::byte* base) {
  for (std::uint64_t tile = 0; tile < table.tiles; ++tile)
    for (std::uint32_t thread = 0; thread < tile_threads; ++thread) device::copy_tile(table, base, tile, thread);
}

}  // namespace ckpt
