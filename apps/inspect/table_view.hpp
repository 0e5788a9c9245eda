#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "inspect/attribute_value.hpp"
#include "report/output.hpp"
#include "tables/keyed/find_key.hpp"

namespace ckpt::cli {

/// One of a row's datasets as text: its numbers, with the layout's names for them.
struct ShownPart {
  std::string name;
  std::vector<std::string> fields;  ///< its columns' names; empty if a column has none
  std::vector<std::string> values;
};

/// A table, and the place of the requested key in it.
struct TableView {
  StoredTable table;
  KeyedTable entry;                 ///< in the layout
  std::string place;                ///< the steps as the layout states them
  std::vector<std::uint64_t> rows;  ///< on each server, also if files are shards
  ManifestTable told;               ///< the manifest's conditions and layers
  std::optional<KeySearch> found;
  std::string key;
  std::string file;              ///< the file with the key
  std::vector<ShownPart> parts;  ///< the key's row
};

/// The tables of a checkpoint, and the place of `key`, if it is not empty, in each. Throws usage for an invalid key.
std::vector<TableView> table_views(const Checkpoint& checkpoint, const Placement& placement, const std::string& key,
                                   SourceStore& store);

/// The number of rows on each table's servers.
Lines tables_text(const std::vector<TableView>& tables, std::optional<std::size_t> width);
/// The places of the requested key; empty if none was requested.
Lines keys_text(const std::vector<TableView>& tables);
Json tables_json(const std::vector<TableView>& tables);

}  // namespace ckpt::cli
