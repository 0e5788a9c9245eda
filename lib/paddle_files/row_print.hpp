#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "keyed/stored_table.hpp"
#include "paddle_files/line_move.hpp"

namespace ckpt {

/// A table of datasets on its way to Paddle's text. Its rows are grouped by the shards that the text has.
struct RowPrint {
  StoredTable table;
  std::map<std::uint64_t, StoredTable> tails;  ///< of those rows that have one, by its dimensions
  RowFields fields;
  std::uint64_t shards = 1;
  int digits = paddle_digits;
  std::vector<std::filesystem::path> targets;  ///< by shard; none: lines are only counted
};

/// That, from the tables of a source (stored_tables) with its layout. Throws input or layout where a table is not
/// there, is not grouped by these shards, or does not have the columns of the target's accessor.
RowPrint row_print(const std::vector<StoredTable>& tables, const Layout& source, const KeyedTable& target, int digits);

/// Throws usage where a shard does not fit into `memory_bytes`: each is held whole. The tables' offsets have been read,
/// here and below.
void check_memory(const RowPrint& print, std::uint64_t memory_bytes);

/// Writes one shard's lines, in the order of its rows, each with its tail. Throws input for a key that is of another
/// shard or stands twice, and for tails of no row.
MovedShard print_shard(const RowPrint& print, std::uint64_t shard, TableReader& reader, bool fsync, Traffic& traffic);

}  // namespace ckpt
