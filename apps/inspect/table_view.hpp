#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "inspect/attribute_value.hpp"
#include "keyed/find_key.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

/// One of a row's datasets, as text: its numbers, with the names that the layout gives them.
struct ShownPart {
  std::string name;
  std::vector<std::string> fields;  ///< of its columns; empty where a column has none
  std::vector<std::string> values;
};

/// A table, and where the key that was asked for is in it.
struct TableView {
  StoredTable table;
  KeyedTable entry;                 ///< of the layout
  std::string place;                ///< the steps as the layout has them
  std::vector<std::uint64_t> rows;  ///< on each server, also where files are shards
  ManifestTable told;               ///< what the manifest says of conditions and layers
  std::optional<KeySearch> found;
  std::string key;
  std::string file;              ///< that has the key
  std::vector<ShownPart> parts;  ///< its row
};

/// The tables of a checkpoint, and in each of them `key`, where one is asked for. Throws usage for one that is no key.
std::vector<TableView> table_views(const Checkpoint& checkpoint, const Placement& placement, const std::string& key,
                                   SourceStore& store);

/// Rows on the servers of each.
Lines tables_text(const std::vector<TableView>& tables, std::optional<std::size_t> width);
/// What was found of the key that was asked for; empty where none was.
Lines keys_text(const std::vector<TableView>& tables);
Json tables_json(const std::vector<TableView>& tables);

}  // namespace ckpt::cli
