#include "layout/tables/table_rows.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/naming.hpp"

namespace ckpt {

namespace {

/// Returns the name of the table whose keys have this name; nothing if it is not a dataset of keys.
std::optional<std::string> table_of_keys(const KeyedTable& table, std::string_view dataset) {
  const std::string_view keys = table.keys;
  const std::size_t mark = keys.find(table_name_mark);
  const std::string_view before = keys.substr(0, mark);
  const std::string_view after = keys.substr(mark + table_name_mark.size());
  if (dataset.size() <= before.size() + after.size() || !dataset.starts_with(before) || !dataset.ends_with(after))
    return std::nullopt;
  std::string name(dataset.substr(before.size(), dataset.size() - before.size() - after.size()));
  return table.name.matches(name) ? std::optional(std::move(name)) : std::nullopt;
}

void check_unclaimed(const Layout& layout, const Naming& naming, const TableDatasets& table, const std::string& dataset,
                     std::map<std::string, std::string>& claimed) {
  const auto [known, is_new] = claimed.try_emplace(dataset, table.name);
  if (!is_new)
    throw Error(Kind::input, layout.origin,
                {"dataset " + dataset + " belongs to table '" + known->second + "' and to table '" + table.name + "'",
                 "one table for each dataset", "tell them apart by \"keys\" and \"rows\""});
  const bool is_counted = std::any_of(layout.indices.begin(), layout.indices.end(),
                                      [&](const IndexRule& index) { return index.in.matches(dataset); });
  if (is_counted || naming.renamed(dataset) != dataset)
    throw Error(Kind::input, layout.origin,
                {std::string(is_counted ? "\"indices\"" : "\"rename\"") + " matches dataset " + dataset +
                     " of table '" + table.name + "'",
                 "datasets of tables under their own names", "narrow its pattern"});
}

/// Counts the rows of a table in one card's file.
class TableCounter {
 public:
  TableCounter(const Layout& layout, const TableDatasets& table) : layout_(layout), table_(table) {}

  std::uint64_t rows_in(const CardArrays& file, std::uint64_t position) const {
    const StoredArray& keys = array(file, table_.keys, position);
    const bool is_key =
        keys.dtype.kind == ElementKind::unsigned_integer || keys.dtype.kind == ElementKind::signed_integer;
    if (!is_key || keys.dtype.size != 8 || keys.dtype.order != ByteOrder::little || keys.shape.size() != 1)
      refuse(table_.keys, position, "found " + keys.dtype.name + " " + to_string(keys.shape),
             "keys: u64 or i64 of one dimension");
    for (const std::string& name : table_.rows) {
      const StoredArray& rows = array(file, name, position);
      if (rows.verbatim || rows.shape.empty())
        refuse(name, position, "found " + rows.dtype.name + " " + to_string(rows.shape), "a row for each key");
      if (rows.shape[0] != keys.shape[0])
        refuse(name, position, "it has " + std::to_string(rows.shape[0]) + " rows",
               "one for each of the " + std::to_string(keys.shape[0]) + " keys in " + table_.keys);
    }
    return keys.shape[0];
  }

  std::uint64_t offsets_in(const CardArrays& file, std::uint64_t position, const RowGroups& groups) const {
    const StoredArray& offsets = array(file, table_.offsets, position);
    const std::uint64_t expected = groups.of_server(position).size() + 1;
    const bool is_whole_number =
        offsets.dtype.kind == ElementKind::unsigned_integer || offsets.dtype.kind == ElementKind::signed_integer;
    if (!is_whole_number || offsets.dtype.size != 8 || offsets.dtype.order != ByteOrder::little ||
        offsets.shape != Shape{expected})
      refuse(table_.offsets, position, "found " + offsets.dtype.name + " " + to_string(offsets.shape),
             "where each of the server's " + std::to_string(expected - 1) + " shards begins, and the end: u64 [" +
                 std::to_string(expected) + "]");
    return expected;
  }

 private:
  const StoredArray& array(const CardArrays& file, const std::string& name, std::uint64_t position) const {
    const auto found = std::lower_bound(file->begin(), file->end(), name,
                                        [](const StoredArray& each, const std::string& n) { return each.name < n; });
    if (found == file->end() || found->name != name)
      refuse(name, position, "the dataset is absent", "it on every server, of no rows where there are none");
    return *found;
  }

  [[noreturn]] void refuse(const std::string& dataset, std::uint64_t position, const std::string& found,
                           const std::string& expected) const {
    throw Error(Kind::input, layout_.files.place(layout_.mesh, position, dataset),
                {found, expected + " (table '" + table_.name + "' of " + layout_.origin + ")", ""});
  }

  const Layout& layout_;
  const TableDatasets& table_;
};

}  // namespace

std::string table_dataset(const std::string& with_mark, const std::string& table) {
  std::string name = with_mark;
  return name.replace(name.find(table_name_mark), table_name_mark.size(), table);
}

std::optional<FieldPlace> field_place(const KeyedTable& table, const std::string& field) {
  for (const auto& [dataset, columns] : table.fields)
    if (const auto found = std::find(columns.begin(), columns.end(), field); found != columns.end())
      return FieldPlace{dataset, static_cast<std::uint64_t>(found - columns.begin())};
  return std::nullopt;
}

std::vector<TableDatasets> find_tables(const Layout& layout, const std::vector<std::string>& names) {
  std::map<std::string, TableDatasets> tables;
  if (layout.tables.empty()) return {};
  for (std::size_t entry = 0; entry < layout.tables.size(); ++entry)
    for (const std::string& name : names)
      if (auto table = table_of_keys(layout.tables[entry], name)) {
        const auto [known, is_new] = tables.try_emplace(*table, TableDatasets{*table, entry, name, {}, {}, {}});
        if (!is_new && known->second.entry != entry)
          throw Error(Kind::input, layout.origin,
                      {"table '" + *table + "' is matched by /tables/" + std::to_string(known->second.entry) +
                           " and by /tables/" + std::to_string(entry),
                       "one entry for each table", ""});
      }
  const Naming naming(layout);
  std::map<std::string, std::string> claimed;
  std::vector<TableDatasets> found;
  for (auto& [table_name, table] : tables) {
    check_unclaimed(layout, naming, table, table.keys, claimed);
    if (const KeyedTable& entry = layout.tables[table.entry]; !entry.offsets.empty()) {
      table.offsets = table_dataset(entry.offsets, table_name);
      check_unclaimed(layout, naming, table, table.offsets, claimed);
    }
    std::string deleted;
    if (const KeyedTable& entry = layout.tables[table.entry]; !entry.deleted.empty()) {
      deleted = table_dataset(entry.deleted, table_name);
      if (std::find(names.begin(), names.end(), deleted) != names.end()) {
        check_unclaimed(layout, naming, table, deleted, claimed);
        found.push_back({deleted, table.entry, deleted, {}, {}, table_name});
      }
    }
    std::set<std::string> rows;
    for (const std::string& text : layout.tables[table.entry].rows) {
      const Pattern pattern(table_dataset(text, literal(table_name)));
      for (const std::string& name : names)
        if (name != table.keys && name != table.offsets && name != deleted && pattern.matches(name)) rows.insert(name);
    }
    for (const std::string& name : rows) check_unclaimed(layout, naming, table, name, claimed);
    table.rows.assign(rows.begin(), rows.end());
    found.push_back(std::move(table));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

std::vector<TableRows> count_table_rows(const Layout& layout, const std::vector<CardArrays>& files) {
  if (layout.tables.empty()) return {};
  std::set<std::string> names;
  std::set<const void*> seen;
  for (const CardArrays& file : files)
    if (seen.insert(file.get()).second)
      for (const StoredArray& array : *file) names.insert(array.name);
  std::vector<TableRows> tables;
  for (TableDatasets& datasets : find_tables(layout, {names.begin(), names.end()})) {
    TableRows table{std::move(datasets), {}, {}};
    const TableCounter counter(layout, table.datasets);
    const KeyedTable& entry = layout.tables[table.datasets.entry];
    const std::uint64_t servers = server_count(entry, layout.mesh);
    for (std::uint64_t position = 0; position < servers; ++position)
      table.rows.push_back(counter.rows_in(files[position], position));
    if (!table.datasets.offsets.empty()) {
      const RowGroups groups = row_groups(entry, servers);
      for (std::uint64_t position = 0; position < servers; ++position)
        table.offsets.push_back(counter.offsets_in(files[position], position, groups));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

bool is_tail_of(std::string_view tail, std::string_view table) {
  constexpr std::string_view ending = ".x";
  if (!tail.starts_with(table)) return false;
  tail.remove_prefix(table.size());
  return tail.starts_with(ending) && tail.find_first_not_of("0123456789", ending.size()) == std::string_view::npos;
}

bool shares_entry(const TableDatasets& tail, const std::vector<TableDatasets>& tables) {
  return std::any_of(tables.begin(), tables.end(), [&](const TableDatasets& other) {
    return other.entry == tail.entry && is_tail_of(tail.name, other.name);
  });
}

std::uint64_t server_count(const KeyedTable& table, const Mesh& mesh) {
  return table.by_shard ? table.by_shard->count : mesh.shape[table.axis];
}

RowGroups row_groups(const KeyedTable& table, std::uint64_t servers) {
  return {KeyPlace(table.place.value(), servers), table.order};
}

Layout with_table_rows(Layout layout, const std::vector<TableRows>& tables) {
  layout.table_arrays.clear();
  layout.table_offsets.clear();
  for (const TableRows& table : tables) {
    const KeyedTable& entry = layout.tables[table.datasets.entry];
    Keys keys;
    keys.split.emplace(1, std::vector<Axis>{entry.axis});
    keys.sizes.emplace()[0] = table.rows;
    if (entry.by_shard) {  // further positions have no part of it
      keys.split->front().resize(layout.mesh.axes.size());
      std::iota(keys.split->front().begin(), keys.split->front().end(), Axis{0});
      keys.sizes->at(0).resize(layout.mesh.size());
    }
    layout.table_arrays.emplace(table.datasets.keys, keys);
    for (const std::string& name : table.datasets.rows) layout.table_arrays.emplace(name, keys);
    if (table.datasets.offsets.empty()) continue;
    keys.sizes.emplace()[0] = table.offsets;
    layout.table_arrays.emplace(table.datasets.offsets, keys);
    layout.table_offsets.insert(table.datasets.offsets);
  }
  return layout;
}

}  // namespace ckpt
