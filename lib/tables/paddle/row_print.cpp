#include "tables/paddle/row_print.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "store/paddle/shard_file.hpp"

namespace ckpt {

namespace {

[[noreturn]] void refuse_source(const StoredTable& table, const std::string& found, const std::string& expected,
                                const std::string& remedy) {
  throw Error(Kind::input, "table '" + table.name + "'", {found, expected, remedy});
}

/// "embedding.x" has the tails of "embedding", "embedding.x8" those of dimension 8.
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
  const bool is_value = table.parts.size() == 2 && table.parts[RowPrint::value_part].name.ends_with("/value") &&
                        table.parts[RowPrint::value_part].dtype == number_type("f32").value();
  if (!is_value || table.parts[RowPrint::value_part].row_elements != columns.size())
    refuse_source(table,
                  is_value ? std::to_string(table.parts[RowPrint::value_part].row_elements) + " columns of its value"
                           : "other datasets than its keys and value, f32",
                  "value f32 with the columns " + join(columns, columns.size()),
                  "is the accessor of the target's layout the table's own?");
  for (const auto& [name, column] : table.fields)
    if (column.number >= columns.size() || columns[column.number] != name)
      refuse_source(table, "column " + std::to_string(column.number) + " is \"" + name + "\" by its layout",
                    "the columns " + join(columns, columns.size()),
                    "is the accessor of the target's layout the table's own?");
}

/// Returns whether the rows of each of `shards` shards are contiguous.
bool is_grouped(const StoredTable& table, const Layout& source, std::uint64_t shards) {
  const KeyedTable& said = source.tables[table.entry];
  const auto* const mod =
      said.place && said.place->size() == 2 ? std::get_if<place_step::Mod>(&said.place->front()) : nullptr;
  return table.shards && mod != nullptr && mod->by == shards;
}

}  // namespace

RowPrint row_print(const std::vector<StoredTable>& tables, const Layout& source, const KeyedTable& target, int digits) {
  const std::string name = target.name.text();
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& table) { return table.name == name; });
  if (found == tables.end())
    throw Error(Kind::input, "table '" + name + "'",
                {source.origin + " has no table of this name", "it there, with its keys and value",
                 "say it in \"tables\" of the source's layout"});
  RowPrint print{*found, RowFields(target.text->accessor), target.text->shards, digits};
  check_columns(print.table, print.fields.always());
  print.is_grouped = is_grouped(print.table, source, print.shards);
  for (const StoredTable& table : tables)
    if (const auto dims = dims_of_tail(table.name, name, print.fields)) {
      check_columns(table, print.fields.tail(*dims));
      print.is_grouped = print.is_grouped && is_grouped(table, source, print.shards);
      print.tails.emplace(*dims, table);
    }
  return print;
}

}  // namespace ckpt
