#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/layout.hpp"
#include "layout/row_groups.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// What stands for a table's name in the names of its datasets.
inline constexpr std::string_view table_name_mark = "{name}";
/// Where a server's shards begin, where the layout does not say another name.
inline constexpr std::string_view default_offsets = "{name}/shard_offsets";

/// The datasets that make up one table.
struct TableDatasets {
  std::string name;
  std::size_t entry = 0;          ///< of Layout::tables
  std::string keys;               ///< u64 or i64 [n]
  std::vector<std::string> rows;  ///< [n, …] each; sorted
  std::string offsets;            ///< u64 [shards of the server + 1]; empty: rows are not grouped by shard
  std::string deletes;            ///< the table of which these keys are deleted; empty: they have rows
};

/// The tables among datasets (or tensors) of these names, sorted by name. Keys that a table deletes from older layers
/// are a table by themselves, of their dataset's name. Throws input for one that two tables claim,
/// or that the layout's other parts would give another name.
std::vector<TableDatasets> find_tables(const Layout& layout, const std::vector<std::string>& names);

/// Where a field stands: the dataset (with {name}) and the column. Nothing where "fields" does not name it.
struct FieldPlace {
  std::string dataset;
  std::uint64_t column = 0;
};
std::optional<FieldPlace> field_place(const KeyedTable& table, const std::string& field);

/// A dataset's name for the table of this name.
std::string table_dataset(const std::string& with_mark, const std::string& table);

/// Whether a table of this name has what only some keys of the other have: "embedding.x", or "embedding.x8" with those
/// of 8 dimensions, of "embedding".
bool is_tail_of(std::string_view tail, std::string_view table);

/// Whether the entry of a table is for the one that it has tails of, too: what it says of columns is of that one's.
bool shares_entry(const TableDatasets& tail, const std::vector<TableDatasets>& tables);

/// How many servers a table has, or files where each is a shard.
std::uint64_t server_count(const KeyedTable& table, const Mesh& mesh);

/// The groups in which its layout puts a table's rows on so many servers. Only of a `place` that is known.
RowGroups row_groups(const KeyedTable& table, std::uint64_t servers);

/// A table, and how many rows each server has.
struct TableRows {
  TableDatasets datasets;
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> offsets;  ///< elements of the offsets' dataset on each server; empty: there is none
};

/// Counts the rows of a source's tables by what its files declare (one Holding for each mesh position). Throws input
/// for a server without a table that others have, and for datasets of other types or of other lengths than the keys'.
std::vector<TableRows> count_table_rows(const Layout& layout, const std::vector<Holding>& files);

/// The layout with its tables' datasets cut so (Layout::table_arrays, table_offsets).
Layout with_table_rows(Layout layout, const std::vector<TableRows>& tables);

}  // namespace ckpt
