#include "tables/phase/table_filters.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "tables/language/table_rows.hpp"

namespace ckpt {

namespace {

[[noreturn]] void refuse_idle(const KeepRule& rule, const std::vector<StoredTable>& tables) {
  std::vector<std::string> names;
  for (const StoredTable& table : tables) names.push_back(table.name);
  throw Error(Kind::usage, "--keep '" + rule.tables.text() + "'",
              {"no table has such a name",
               names.empty() ? "a checkpoint with \"tables\" in its layout" : "one of " + join(names), ""});
}

RowFilter filter_of(const KeepRule& rule, const StoredTable& table, const KeyedTable& entry) {
  return with_context("--keep '" + rule.tables.text() + ": " + rule.condition + "'",
                      [&] { return RowFilter(RowCondition(rule.condition, entry.filters), table); });
}

}  // namespace

std::vector<std::optional<RowFilter>> table_filters(const std::vector<KeepRule>& rules,
                                                    const std::vector<StoredTable>& tables, const Placement& source) {
  std::vector<std::optional<RowFilter>> filters(tables.size());
  if (rules.empty()) return filters;
  const std::vector<StoredTable> whole = stored_tables(source);  // with the datasets that are left out
  const auto leaders = table_leaders(tables);
  for (const KeepRule& rule : rules) {
    bool is_used = false;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (!tables[i].deletes.empty() || !rule.tables.matches(tables[i].name)) continue;
      is_used = true;
      // A tail has other columns; its rows follow those that its leader keeps.
      if (leaders[i] && rule.tables.matches(tables[*leaders[i]].name)) continue;
      if (filters[i])
        throw Error(Kind::usage, "--keep '" + rule.tables.text() + "'",
                    {"another --keep is for table '" + tables[i].name + "', too", "one for each table",
                     "join the conditions with \"and\""});
      const auto table = std::find_if(whole.begin(), whole.end(),
                                      [&](const StoredTable& each) { return each.name == tables[i].name; });
      // A table that only other layers have has no column names here.
      filters[i].emplace(table == whole.end() ? filter_of(rule, tables[i], KeyedTable{})
                                              : filter_of(rule, *table, source.layout().tables[table->entry]));
    }
    if (!is_used) refuse_idle(rule, tables);
  }
  return filters;
}

std::vector<std::optional<std::size_t>> table_leaders(const std::vector<StoredTable>& tables) {
  std::vector<std::optional<std::size_t>> leaders(tables.size());
  for (std::size_t tail = 0; tail < tables.size(); ++tail)
    for (std::size_t leader = 0; leader < tables.size(); ++leader)
      if (tables[tail].deletes.empty() && is_tail_of(tables[tail].name, tables[leader].name)) leaders[tail] = leader;
  for (auto& leader : leaders)
    while (leader && leaders[*leader]) leader = leaders[*leader];
  return leaders;
}

}  // namespace ckpt
