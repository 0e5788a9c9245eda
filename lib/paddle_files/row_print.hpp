#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "keyed/stored_table.hpp"
#include "paddle_text/lines.hpp"

namespace ckpt {

/// A table of datasets on its way to Paddle's text.
struct RowPrint {
  static constexpr std::size_t value_part = 1;  ///< of each of the tables' parts: the keys come first

  StoredTable table;
  RowFields fields;
  std::uint64_t shards = 1;  ///< that the text has
  int digits = paddle_digits;
  std::map<std::uint64_t, StoredTable> tails = {};  ///< of those rows that have one, by its dimensions
  bool is_grouped = false;                          ///< the rows of each shard lie together (print_shard), or anywhere
  std::vector<std::filesystem::path> targets = {};  ///< by shard; none: lines are only counted

  std::uint64_t shard_of(std::uint64_t key) const noexcept { return key % shards; }
};

/// That, from the tables of a source (stored_tables) with its layout. Throws input or layout where a table is not
/// there, or does not have the columns of the target's accessor.
RowPrint row_print(const std::vector<StoredTable>& tables, const Layout& source, const KeyedTable& target, int digits);

}  // namespace ckpt
