#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/tables/row_groups.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// The placeholder for a table's name in the names of its datasets.
inline constexpr std::string_view table_name_mark = "{name}";
/// The dataset with the starts of a server's shards, unless the layout names another.
inline constexpr std::string_view default_offsets = "{name}/shard_offsets";

/// The datasets that make up one table.
struct TableDatasets {
  std::string name;
  std::size_t entry = 0;          ///< index into Layout::tables
  std::string keys;               ///< u64 or i64 [n]
  std::vector<std::string> rows;  ///< [n, …] each; sorted
  std::string offsets;            ///< u64 [shards of the server + 1]; empty: rows are not grouped by shard
  std::string deletes;            ///< the table from which these keys are deleted; empty: they have rows
};

/// Returns the tables among datasets (or tensors) of these names, sorted by name. The keys that a table deletes from
/// older layers form a table of their own, with their dataset's name. Throws input for a dataset that two tables claim,
/// or that the layout's other parts would rename.
std::vector<TableDatasets> find_tables(const Layout& layout, const std::vector<std::string>& names);

/// The place of a field: the dataset (with {name}) and the column. Nothing if "fields" does not name it.
struct FieldPlace {
  std::string dataset;
  std::uint64_t column = 0;
};
std::optional<FieldPlace> field_place(const KeyedTable& table, const std::string& field);

/// Returns a dataset's name for the table of this name.
std::string table_dataset(const std::string& with_mark, const std::string& table);

/// Returns whether a table of this name has additional values for only some keys of the other: "embedding.x", or
/// "embedding.x8" for those of 8 dimensions, belongs to "embedding".
bool is_tail_of(std::string_view tail, std::string_view table);

/// Returns whether a tail's entry also applies to the table that it extends: its columns are then that table's.
bool shares_entry(const TableDatasets& tail, const std::vector<TableDatasets>& tables);

/// Returns the number of a table's servers, or of its files if each is a shard.
std::uint64_t server_count(const KeyedTable& table, const Mesh& mesh);

/// Returns the groups into which the layout puts a table's rows on `servers` servers. `place` must be given.
RowGroups row_groups(const KeyedTable& table, std::uint64_t servers);

/// A table, and the number of rows on each server.
struct TableRows {
  TableDatasets datasets;
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> offsets;  ///< elements of the offsets' dataset on each server; empty: no such dataset
};

/// Counts the rows of a source's tables from the declarations in its files (one Holding for each mesh position). Throws
/// input for a server that lacks a table that others have, and for datasets of wrong types, or of other lengths than
/// the keys'.
std::vector<TableRows> count_table_rows(const Layout& layout, const std::vector<CardArrays>& files);

/// Returns the layout with its tables' datasets cut by these rows (Layout::table_arrays, table_offsets).
Layout with_table_rows(Layout layout, const std::vector<TableRows>& tables);

}  // namespace ckpt
