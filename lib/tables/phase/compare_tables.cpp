#include "tables/phase/compare_tables.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "tables/keyed/table_difference.hpp"

namespace ckpt {

namespace {

std::string keys_text(const StoredTable& table, const DifferingKeys& keys) {
  if (keys.count == 0) return "";
  std::vector<std::string> words;
  for (const std::uint64_t key : keys.some) words.push_back(table.key_text(key));
  return (keys.count == 1 ? "key " : "keys ") + join(words, DifferingKeys::most_named) +
         (keys.count > keys.some.size() ? ", …" : "");
}

/// Keeps only the parts that both tables have.
void keep_common(StoredTable& table, const StoredTable& other) {
  std::erase_if(table.parts, [&](const TablePart& part) {
    return std::none_of(other.parts.begin(), other.parts.end(),
                        [&](const TablePart& each) { return each.name == part.name; });
  });
}

void add_differences(const StoredTable& a, const StoredTable& b, const TableDifference& found,
                     std::vector<Difference>& differences) {
  const auto add = [&](Difference::What what, const DifferingKeys& keys, std::uint64_t of, bool in_a, bool in_b) {
    if (keys.count == 0) return;
    const std::string text = keys_text(a, keys);
    differences.push_back({.what = what,
                           .parameter = "table '" + a.name + "'",
                           .a = in_a ? text : "",
                           .b = in_b ? text : "",
                           .count = keys.count,
                           .compared = of});
  };
  add(Difference::What::keys_of_a, found.only_in_a, a.total_rows(), true, false);
  add(Difference::What::keys_of_b, found.only_in_b, b.total_rows(), false, true);
  add(Difference::What::rows, found.rows, b.total_rows(), true, true);
}

}  // namespace

std::vector<Difference> compare_tables(const TableSide& a, const TableSide& b, const Resources& resources,
                                       SourceStore& store, Communicator& processes) {
  std::vector<StoredTable> of_a;
  std::vector<StoredTable> of_b;
  agree(processes, [&] {
    of_a = stored_tables(a.placement, a.counts);
    of_b = stored_tables(b.placement, b.counts);
  });
  std::vector<Difference> differences;
  if (of_a.empty() || of_b.empty()) return differences;
  const std::size_t most_open = open_files_allowed(resources, processes);
  const CensusContext context = census_context(resources, processes);
  set_decoding_memory(store, resources.memory_bytes / 4);
  TableReader reader_of_a(a.files, store, most_open);
  TableReader reader_of_b(b.files, store, most_open);
  for (StoredTable& table : of_a) {
    const auto other =
        std::find_if(of_b.begin(), of_b.end(), [&](const auto& each) { return each.name == table.name; });
    if (other == of_b.end()) continue;
    reader_of_a.read_offsets(table, processes);
    reader_of_b.read_offsets(*other, processes);
    check_keys(table, reader_of_a, context, processes);
    check_keys(*other, reader_of_b, context, processes);
    keep_common(table, *other);
    keep_common(*other, table);
    const TableDifference found = difference({table, reader_of_a}, {*other, reader_of_b}, context, processes);
    add_differences(table, *other, found, differences);
  }
  return differences;
}

}  // namespace ckpt
