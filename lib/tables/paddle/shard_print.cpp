#include "tables/paddle/shard_print.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tables/paddle/row_lines.hpp"

namespace ckpt {

namespace {

constexpr std::size_t printed_at_once = 256ULL << 10;

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

/// Reads rows, with the checks of a census.
HeldRows read_rows(const RowPrint& print, const StoredTable& table, std::uint64_t shard, TableReader& reader,
                   Traffic& traffic) {
  const RowsOnServer place = place_of_shard(table, shard);
  HeldRows rows;
  rows.keys.resize(place.rows.size());
  reader.read_keys(table, place.server, place.rows.lo, rows.keys);
  const TablePart& part = table.parts[RowPrint::value_part];
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
  for (std::size_t row = 0; row < rows.keys.size(); ++row)
    if (const std::uint64_t found = print.shard_of(rows.keys[row]); found != shard)
      refuse(row, "lies in shard " + std::to_string(shard), "shard " + std::to_string(found));
  rows.index();
  const auto twice = std::adjacent_find(rows.by_key.begin(), rows.by_key.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != rows.by_key.end())
    refuse(std::next(twice)->second, "stands in row " + std::to_string(place.rows.lo + twice->second) + ", too",
           "each key once");
  return rows;
}

}  // namespace

bool fits_by_shard(const RowPrint& print, std::uint64_t memory_bytes) {
  for (std::uint64_t shard = 0; shard < print.shards; ++shard) {
    std::uint64_t bytes = printed_at_once;
    const auto add = [&](const StoredTable& table) {
      bytes +=
          place_of_shard(table, shard).rows.size() * HeldRows::bytes(table.parts[RowPrint::value_part].row_elements);
    };
    add(print.table);
    for (const auto& [dims, table] : print.tails) add(table);
    if (bytes > memory_bytes) return false;
  }
  return true;
}

MovedShard print_shard(const RowPrint& print, std::uint64_t shard, TableReader& reader, bool fsync, Traffic& traffic) {
  const HeldRows rows = read_rows(print, print.table, shard, reader, traffic);
  RowTails tails(print);
  for (const auto& [dims, table] : print.tails) tails.hold(dims, read_rows(print, table, shard, reader, traffic));
  PrintedShard printed(print, shard, printed_at_once);
  RowLines lines(print, tails);
  const std::size_t columns = print.fields.always().size();
  std::string line;
  for (std::size_t row = 0; row < rows.keys.size(); ++row) {
    line.clear();
    lines.append(line, rows.keys[row], rows.values.data() + row * columns);
    printed.append(line);
  }
  tails.check_all_taken();
  return printed.finish(fsync, traffic);
}

}  // namespace ckpt
