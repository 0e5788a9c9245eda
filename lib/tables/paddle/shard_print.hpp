#pragma once

#include <cstdint>

#include "tables/paddle/line_move.hpp"
#include "tables/paddle/row_print.hpp"

namespace ckpt {

/// Returns whether each shard of a table that is grouped by shard fits into `memory_bytes`: printing holds each one
/// whole. Here and below, the tables' offsets must have been read.
bool fits_by_shard(const RowPrint& print, std::uint64_t memory_bytes);

/// Writes one shard's lines, in the order of its rows, each with its tail. Throws input for a key that belongs to
/// another shard or occurs twice, and for tails without a row.
MovedShard print_shard(const RowPrint& print, std::uint64_t shard, TableReader& reader, bool fsync, Traffic& traffic);

}  // namespace ckpt
