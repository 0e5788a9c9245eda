#pragma once

#include <cstdint>

#include "paddle_files/line_move.hpp"
#include "paddle_files/row_print.hpp"

namespace ckpt {

/// Whether each shard of a table that is grouped by shard fits into `memory_bytes`: here, each is held whole. The
/// tables' offsets have been read, here and below.
bool fits_by_shard(const RowPrint& print, std::uint64_t memory_bytes);

/// Writes one shard's lines, in the order of its rows, each with its tail. Throws input for a key that is of another
/// shard or stands twice, and for tails of no row.
MovedShard print_shard(const RowPrint& print, std::uint64_t shard, TableReader& reader, bool fsync, Traffic& traffic);

}  // namespace ckpt
