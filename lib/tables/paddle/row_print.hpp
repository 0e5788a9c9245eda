#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "store/paddle/lines.hpp"
#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// A table of datasets that is converted to Paddle's text.
struct RowPrint {
  static constexpr std::size_t value_part = 1;  ///< index in each of the tables' parts: the keys come first

  StoredTable table;
  RowFields fields;
  std::uint64_t shards = 1;  ///< number of shards of the text
  int digits = paddle_digits;
  std::map<std::uint64_t, StoredTable> tails = {};  ///< tables of the tails, by their dimensions
  bool is_grouped = false;                          ///< the rows of each shard are contiguous (print_shard); otherwise
                                                    ///< they lie anywhere
  std::vector<std::filesystem::path> targets = {};  ///< by shard; none: lines are only counted

  std::uint64_t shard_of(std::uint64_t key) const noexcept { return key % shards; }
};

/// Returns the conversion of a source's tables (stored_tables) with its layout. Throws input or layout if a table is
/// missing, or does not have the columns of the target's accessor.
RowPrint row_print(const std::vector<StoredTable>& tables, const Layout& source, const KeyedTable& target, int digits);

}  // namespace ckpt
