#include "paddle_files/row_print.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "paddle_files/line_sums.hpp"
#include "store/paddle/shard_file.hpp"

namespace ckpt {

namespace {

constexpr std::size_t printed_at_once = 256ULL << 10;
constexpr std::size_t value_part = 1;  // the keys come first

[[noreturn]] void refuse_source(const StoredTable& table, const std::string& found, const std::string& expected,
                                const std::string& remedy) {
  throw Error(Kind::input, "table '" + table.name + "'", {found, expected, remedy});
}

/// "embedding.x" has the tails of "embedding", "embedding.x8" those of 8 dimensions.
std::optional<std::uint64_t> dims_of_tail(const std::string& name, const std::string& table, const RowFields& fields) {
  const std::string prefix = table + ".x";
  if (!fields.rows_have_dims()) return name == prefix ? std::optional(fields.embedx_dim()) : std::nullopt;
  std::uint64_t dims = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with(prefix) || std::from_chars(name.data() + prefix.size(), end, dims).ptr != end ||
      dims > fields.embedx_dim() || name != tail_table(table, fields, dims))
    return std::nullopt;
  return dims;
}

void check_columns(const StoredTable& table, const std::vector<std::string>& columns) {
  const bool is_value = table.parts.size() == 2 && table.parts[value_part].name.ends_with("/value") &&
                        table.parts[value_part].dtype == number_type("f32").value();
  if (!is_value || table.parts[value_part].row_elements != columns.size())
    refuse_source(table,
                  is_value ? std::to_string(table.parts[value_part].row_elements) + " columns of its value"
                           : "other datasets than its keys and value, f32",
                  "expected value f32 with the columns " + join(columns, columns.size()),
                  "is the accessor of the target's layout the table's own?");
  for (const auto& [name, column] : table.fields)
    if (column.number >= columns.size() || columns[column.number] != name)
      refuse_source(table, "column " + std::to_string(column.number) + " is \"" + name + "\" by its layout",
                    "expected the columns " + join(columns, columns.size()),
                    "is the accessor of the target's layout the table's own?");
}

void check_grouped(const StoredTable& table, const Layout& source, std::uint64_t shards) {
  const KeyedTable& said = source.tables[table.entry];
  const auto* const mod =
      said.place && said.place->size() == 2 ? std::get_if<place_step::Mod>(&said.place->front()) : nullptr;
  if (table.shards && mod != nullptr && mod->by == shards) return;
  refuse_source(table, "in " + source.origin + " its rows are not grouped by key modulo " + std::to_string(shards),
                "expected \"order\": \"shard\", and {\"mod\": " + std::to_string(shards) +
                    "} and {\"blocks\": \"ceil\"} as place",
                "bring it there first: a job from this layout to one that says so");
}

/// One shard's rows of a table.
struct ShardRows {
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_key;  // key and row, ascending
};

struct RowsOnServer {
  Position server = 0;
  Interval rows;
};

RowsOnServer place_of_shard(const StoredTable& table, std::uint64_t shard) {
  const RowGroups& groups = table.shards->groups;
  std::uint64_t group = shard;  // the smallest key of a shard is its number
  groups.apply({&group, 1});
  const Position server = groups.server_of(group);
  const std::vector<std::uint64_t>& offsets = table.shards->offsets[server];
  const std::uint64_t local = group - groups.of_server(server).lo;
  return {server, {offsets[local], offsets[local + 1]}};
}

ShardRows read_rows(const RowPrint& print, const StoredTable& table, std::uint64_t shard, TableReader& reader,
                    Traffic& traffic) {
  const RowsOnServer place = place_of_shard(table, shard);
  ShardRows rows;
  rows.keys.resize(place.rows.size());
  reader.read_keys(table, place.server, place.rows.lo, rows.keys);
  const TablePart& part = table.parts[value_part];
  rows.values.resize(place.rows.size() * part.row_elements);
  const auto bytes = std::as_writable_bytes(std::span(rows.values));
  reader.read(part, place.server, place.rows.lo, bytes);
  traffic.bytes_read += rows.keys.size() * sizeof(std::uint64_t) + bytes.size();
  const auto refuse = [&](std::size_t row, const std::string& found, const std::string& expected) {
    throw Error(
        Kind::input, reader.describe(table.keys(), place.server),
        {"key " + table.key_text(rows.keys[row]) + " in row " + std::to_string(place.rows.lo + row) + " " + found,
         expected + " (table '" + table.name + "')", ""});
  };
  rows.by_key.reserve(rows.keys.size());
  for (std::size_t row = 0; row < rows.keys.size(); ++row) {
    if (rows.keys[row] % print.shards != shard)
      refuse(row, "lies in shard " + std::to_string(shard),
             "it belongs to shard " + std::to_string(rows.keys[row] % print.shards));
    rows.by_key.emplace_back(rows.keys[row], row);
  }
  std::sort(rows.by_key.begin(), rows.by_key.end());
  const auto twice = std::adjacent_find(rows.by_key.begin(), rows.by_key.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != rows.by_key.end())
    refuse(std::next(twice)->second, "stands in row " + std::to_string(place.rows.lo + twice->second) + ", too",
           "expected each key once");
  return rows;
}

/// The tails of one shard's rows, by their dimensions.
class Tails {
 public:
  Tails(const RowPrint& print, std::uint64_t shard, const ShardRows& all, TableReader& reader, Traffic& traffic)
      : print_(print) {
    for (const auto& [dims, table] : print.tails) {
      ShardRows rows = read_rows(print, table, shard, reader, traffic);
      for (const auto& [key, row] : rows.by_key) check_row(table, all, dims, key);
      of_dims_.emplace(dims, std::move(rows));
    }
  }

  /// Appends a row's tail to its numbers.
  void append(std::uint64_t key, std::vector<float>& numbers) const {
    for (const auto& [dims, rows] : of_dims_) {
      const auto found = std::lower_bound(rows.by_key.begin(), rows.by_key.end(), std::pair(key, std::size_t{0}));
      if (found == rows.by_key.end() || found->first != key) continue;
      const std::size_t size = print_.fields.tail_size(dims);
      const auto begin = rows.values.begin() + static_cast<std::ptrdiff_t>(found->second * size);
      numbers.insert(numbers.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    }
  }

 private:
  /// A tail is of a row, and where rows say their dimensions, of one that says these.
  void check_row(const StoredTable& table, const ShardRows& all, std::uint64_t dims, std::uint64_t key) const {
    const auto found = std::lower_bound(all.by_key.begin(), all.by_key.end(), std::pair(key, std::size_t{0}));
    if (found == all.by_key.end() || found->first != key)
      refuse_source(table, "key " + table.key_text(key) + " is not in table '" + print_.table.name + "'",
                    "expected tails of rows that are there", "take both tables from the same checkpoint");
    if (!print_.fields.rows_have_dims()) return;
    const std::size_t columns = print_.fields.always().size();
    const float said = all.values[(found->second + 1) * columns - 1];
    if (said != static_cast<float>(dims))
      refuse_source(table, "the row of key " + table.key_text(key) + " says mf_dim " + std::to_string(said),
                    "expected " + std::to_string(dims), "take both tables from the same checkpoint");
  }

  const RowPrint& print_;
  std::map<std::uint64_t, ShardRows> of_dims_;
};

}  // namespace

RowPrint row_print(const std::vector<StoredTable>& tables, const Layout& source, const KeyedTable& target, int digits) {
  const std::string name = target.name.text();
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& table) { return table.name == name; });
  if (found == tables.end())
    throw Error(Kind::input, "table '" + name + "'",
                {source.origin + " has no table of this name", "expected it there, with its keys and value",
                 "say it in \"tables\" of the source's layout"});
  RowPrint print{*found, {}, RowFields(target.text->accessor), target.text->shards, digits, {}};
  check_columns(print.table, print.fields.always());
  check_grouped(print.table, source, print.shards);
  for (const StoredTable& table : tables)
    if (const auto dims = dims_of_tail(table.name, name, print.fields)) {
      check_columns(table, print.fields.tail(*dims));
      check_grouped(table, source, print.shards);
      print.tails.emplace(*dims, table);
    }
  return print;
}

void check_memory(const RowPrint& print, std::uint64_t memory_bytes) {
  constexpr std::uint64_t of_order = 16;  // ShardRows::by_key
  for (std::uint64_t shard = 0; shard < print.shards; ++shard) {
    std::uint64_t bytes = printed_at_once;
    const auto add = [&](const StoredTable& table) {
      bytes += place_of_shard(table, shard).rows.size() * (table.row_bytes() + of_order);
    };
    add(print.table);
    for (const auto& [dims, table] : print.tails) add(table);
    if (bytes > memory_bytes)
      throw Error(
          Kind::usage, "--memory",
          {format_bytes(memory_bytes) + " for each thread",
           "shard " + std::to_string(shard) + " of table '" + print.table.name + "' takes " + format_bytes(bytes),
           "give more, fewer --threads, or a larger shard_num"});
  }
}

MovedShard print_shard(const RowPrint& print, std::uint64_t shard, TableReader& reader, bool fsync, Traffic& traffic) {
  const ShardRows rows = read_rows(print, print.table, shard, reader, traffic);
  const Tails tails(print, shard, rows, reader, traffic);
  std::optional<TextOutput> out;
  if (!print.targets.empty()) out.emplace(print.targets[shard], printed_at_once);
  const std::size_t columns = print.fields.always().size();
  MovedShard printed{shard, {}};
  PartialSum made;
  std::vector<float> numbers;
  std::string line;
  for (std::size_t row = 0; row < rows.keys.size(); ++row) {
    const auto begin = rows.values.begin() + static_cast<std::ptrdiff_t>(row * columns);
    numbers.assign(begin, begin + static_cast<std::ptrdiff_t>(columns));
    tails.append(rows.keys[row], numbers);
    line.clear();
    append_line(line, rows.keys[row], numbers, print.digits);
    add_line(line, made);
    printed.written.bytes += line.size();
    if (out) out->append(line);
  }
  printed.written.lines = made;
  if (!out) return printed;
  printed.written = out->finish(fsync);
  traffic.bytes_written += printed.written.bytes;
  if (!(printed.written.lines == made))
    throw Error(Kind::io, print.targets[shard].string(),
                {"the lines written are not those that were made", "expected equal sums",
                 "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
  return printed;
}

}  // namespace ckpt
