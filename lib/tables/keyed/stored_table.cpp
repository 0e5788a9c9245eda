#include "tables/keyed/stored_table.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/interrupt.hpp"
#include "layout/tables/table_rows.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

TablePart part_of(const Placement& placement, ParameterId parameter, bool is_key) {
  const Tensor& tensor = placement.tensors()[parameter];
  Shape row(tensor.shape.size() - 1);
  for (std::size_t d = 0; d < row.size(); ++d) row[d] = tensor.shape[d + 1];
  // Keys of either signedness are the same keys.
  const std::string dtype = is_key ? "key" : tensor.dtype.name;
  const std::uint64_t elements = numel(row);
  return {tensor.name, parameter, tensor.dtype, elements,
          RowSums(describe_tensor(tensor.name, dtype, row), is_key ? 0 : elements * tensor.dtype.size)};
}

/// Returns element `at` as an unsigned integer, or nothing if it is not one.
template <class Number>
std::optional<std::uint64_t> whole(const std::byte* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  if constexpr (std::is_floating_point_v<Number>) {
    if (!(number >= 0 && number < Number(1ULL << 63)) || Number(static_cast<std::uint64_t>(number)) != number)
      return std::nullopt;
  }
  return static_cast<std::uint64_t>(number);
}

std::optional<std::uint64_t> whole(const DType& dtype, const std::byte* at) {
  if (dtype.kind == ElementKind::ieee_float) return dtype.size == 4 ? whole<float>(at) : whole<double>(at);
  if (dtype.size == 8) return whole<std::uint64_t>(at);
  return dtype.kind == ElementKind::signed_integer ? whole<std::int32_t>(at) : whole<std::uint32_t>(at);
}

}  // namespace

std::uint64_t StoredTable::total_rows() const {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
}

std::uint64_t StoredTable::row_bytes() const {
  std::uint64_t bytes = 0;
  for (const TablePart& part : parts) bytes += part.row_bytes();
  return bytes;
}

std::string StoredTable::key_text(std::uint64_t key) const {
  return keys().dtype.kind == ElementKind::signed_integer ? std::to_string(static_cast<std::int64_t>(key))
                                                          : std::to_string(key);
}

std::map<std::string, StoredTable::Column> columns_of(const KeyedTable& entry, const StoredTable& table, bool is_tail) {
  std::map<std::string, StoredTable::Column> columns;
  for (const auto& [dataset, names] : entry.fields)
    for (std::size_t p = 1; p < table.parts.size(); ++p) {
      if (table.parts[p].name != table_dataset(dataset, table.name)) continue;
      if (is_tail && names.size() != table.parts[p].row_elements) continue;
      for (std::size_t column = 0; column < names.size(); ++column) columns[names[column]] = {p, column};
    }
  return columns;
}

std::string other_names(const std::map<std::string, StoredTable::Column>& one,
                        const std::map<std::string, StoredTable::Column>& other) {
  for (const auto& [name, column] : one)
    for (const auto& [other_name, other_column] : other)
      if (column.part == other_column.part && column.number == other_column.number && name != other_name)
        return "column " + std::to_string(column.number) + " is \"" + name + "\", and \"" + other_name + "\"";
  return "";
}

void check_field(const StoredTable& table, const KeyPlace& place, const std::string& origin) {
  if (place.field().empty()) return;
  const auto found = table.fields.find(place.field());
  const std::string field = "the field \"" + place.field() + "\"";
  if (found == table.fields.end())
    throw Error(Kind::input, "table '" + table.name + "'",
                {field + ", by which " + origin + " places its rows, is not there",
                 "its dataset among those that are taken, and its name in the source's \"fields\"", ""});
  const TablePart& part = table.parts[found->second.part];
  const bool is_number = part.dtype.kind == ElementKind::unsigned_integer ||
                         part.dtype.kind == ElementKind::signed_integer || part.dtype.kind == ElementKind::ieee_float;
  if (found->second.number >= part.row_elements || !is_number || part.dtype.order != ByteOrder::little ||
      part.dtype.size < 4)
    throw Error(
        Kind::input, "dataset " + part.name,
        {"rows of " + std::to_string(part.row_elements) + " " + part.dtype.name,
         "numbers of 4 or 8 bytes, of which column " + std::to_string(found->second.number) + " is " + field, ""});
}

std::vector<StoredTable> stored_tables(const Placement& placement, const std::function<bool(ParameterId)>& is_taken) {
  const Layout& layout = placement.layout();
  std::vector<std::string> names;
  for (const auto& [name, keys] : layout.table_arrays) names.push_back(name);
  std::vector<StoredTable> tables;
  const std::vector<TableDatasets> found = find_tables(layout, names);
  for (const TableDatasets& datasets : found) {
    StoredTable table;
    table.name = datasets.name;
    table.entry = datasets.entry;
    table.deletes = datasets.deletes;
    table.rows = layout.table_arrays.at(datasets.keys).sizes->at(0);
    table.rows.resize(server_count(layout.tables[datasets.entry], layout.mesh));
    if (const auto keys = placement.find(datasets.keys); keys && is_taken(*keys))
      table.parts.push_back(part_of(placement, *keys, true));
    const bool has_keys = !table.parts.empty();
    for (const std::string& name : datasets.rows)
      if (const auto rows = placement.find(name); rows && is_taken(*rows))
        table.parts.push_back(part_of(placement, *rows, false));
    if (table.parts.empty()) continue;
    if (!has_keys)
      throw Error(Kind::input, "table '" + table.name + "'",
                  {"its keys, " + datasets.keys + ", are left out, but not " + table.parts.front().name,
                   "rows with their keys", "take or leave out all of the table"});
    const KeyedTable& entry = layout.tables[datasets.entry];
    if (entry.place) table.place.emplace(*entry.place, table.rows.size());
    // Deleted keys have no fields that would determine their place.
    if (!table.deletes.empty() && table.place && !table.place->field().empty()) table.place.reset();
    table.fields = columns_of(entry, table, shares_entry(datasets, found));
    if (table.place) check_field(table, *table.place, layout.origin);
    if (const auto offsets = placement.find(datasets.offsets); !datasets.offsets.empty() && offsets)
      table.shards.emplace(
          StoredTable::Shards{RowGroups(*table.place, entry.order), part_of(placement, *offsets, false), {}});
    tables.push_back(std::move(table));
  }
  return tables;
}

TableReader::TableReader(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open)
    : checkpoint_(checkpoint), files_(most_open, [&checkpoint, &store](FileNumber file) -> std::shared_ptr<SourceFile> {
        return store.open(checkpoint.file_path(file), checkpoint.file(file));
      }) {}

void TableReader::read(const TablePart& part, Position server, std::uint64_t first, std::span<std::byte> out) {
  check_interrupt();
  if (out.empty()) return;
  const CardFiles& files = checkpoint_.layout().files;
  const FileNumber file = checkpoint_.table().of(server, files.entry_of(part.name).value_or(0));
  const std::size_t dataset = checkpoint_.file(file).schema->find(files.name_within(part.name));
  files_.get(file)->read(dataset, first * part.row_bytes(), out);
}

void TableReader::read_keys(const StoredTable& table, Position server, std::uint64_t first,
                            std::span<std::uint64_t> out) {
  read(table.keys(), server, first, std::as_writable_bytes(out));
}

void TableReader::read_placed(const StoredTable& table, const KeyPlace& place, Position server, std::uint64_t first,
                              std::span<const std::uint64_t> keys, std::vector<std::uint64_t>& out) {
  out.assign(keys.begin(), keys.end());
  if (place.field().empty()) return;
  const StoredTable::Column column = table.fields.at(place.field());
  const TablePart& part = table.parts[column.part];
  std::vector<std::byte> rows(keys.size() * part.row_bytes());
  read(part, server, first, rows);
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const auto value = whole(part.dtype, rows.data() + row * part.row_bytes() + column.number * part.dtype.size);
    if (!value)
      throw Error(Kind::input, describe(part, server),
                  {"the field \"" + place.field() + "\" of row " + std::to_string(first + row) + ", key " +
                       table.key_text(keys[row]) + ", is no whole number from 0 on",
                   "one, for it places the row", ""});
    out[row] = *value;
  }
}

void TableReader::read_offsets(StoredTable& table, Communicator& processes) {
  if (!table.shards) return;
  const auto count = static_cast<std::uint32_t>(processes.size());
  using ServerOffsets = std::vector<std::pair<Position, std::vector<std::uint64_t>>>;
  ServerOffsets mine;
  agree(processes, [&] {
    const Owners owner_of = checkpoint_.is_shared() ? Owners{} : checkpoint_.owners(count);
    for (Position server = 0; server < table.rows.size(); ++server) {
      const std::uint64_t reader = owner_of.empty() ? server % count : owner_of[server];
      if (reader != static_cast<std::uint64_t>(processes.rank())) continue;
      std::vector<std::uint64_t> offsets(table.shards->groups.of_server(server).size() + 1);
      read(table.shards->part, server, 0, std::as_writable_bytes(std::span(offsets)));
      check_offsets(table, server, offsets);
      mine.emplace_back(server, std::move(offsets));
    }
  });
  table.shards->offsets.resize(table.rows.size());
  for (ServerOffsets& theirs : gather_all(mine, processes))
    for (auto& [server, offsets] : theirs) table.shards->offsets[server] = std::move(offsets);
}

void TableReader::check_offsets(const StoredTable& table, Position server,
                                const std::vector<std::uint64_t>& offsets) const {
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw Error(Kind::input, describe(table.shards->part, server),
                {found, expected + " (table '" + table.name + "')",
                 "it was written with other rows, or is damaged: \"order\": \"source\" does without it, where \"rows\" "
                 "leave it out"});
  };
  if (offsets.front() != 0) refuse("the first shard begins at row " + std::to_string(offsets.front()), "0");
  if (offsets.back() != table.rows[server])
    refuse("the last shard ends with row " + std::to_string(offsets.back()),
           "the end of the " + std::to_string(table.rows[server]) + " rows");
  const auto lower = std::is_sorted_until(offsets.begin(), offsets.end());
  if (lower == offsets.end()) return;
  const std::uint64_t group =
      table.shards->groups.of_server(server).lo + static_cast<std::uint64_t>(lower - offsets.begin()) - 1;
  refuse("shard " + std::to_string(table.shards->groups.shard_of(group)) + " begins at row " +
             std::to_string(*(lower - 1)) + " and ends with row " + std::to_string(*lower),
         "no shard to end before it begins");
}

std::string TableReader::describe(const TablePart& part, Position server) const {
  return checkpoint_.place(server, part.name);
}

TableReaders::TableReaders(const std::vector<const Checkpoint*>& checkpoints, SourceStore& store,
                           std::size_t most_open) {
  for (const Checkpoint* checkpoint : checkpoints)
    readers_.emplace_back(*checkpoint, store, std::max<std::size_t>(most_open / checkpoints.size(), 1));
}

std::vector<TableReader*> TableReaders::all() {
  std::vector<TableReader*> all;
  for (TableReader& reader : readers_) all.push_back(&reader);
  return all;
}

}  // namespace ckpt
