#include "tables/phase/table_layers.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "jobs/types/selection.hpp"
#include "layout/tables/table_rows.hpp"
#include "tables/keyed/row_filter.hpp"
#include "tensor/number.hpp"

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

/// For each table, the number of the one whose rows it follows (is_tail_of); nothing if it follows none.
std::vector<std::optional<std::size_t>> table_leaders(const std::vector<StoredTable>& tables) {
  std::vector<std::optional<std::size_t>> leaders(tables.size());
  for (std::size_t tail = 0; tail < tables.size(); ++tail)
    for (std::size_t leader = 0; leader < tables.size(); ++leader)
      if (tables[tail].deletes.empty() && is_tail_of(tables[tail].name, tables[leader].name)) leaders[tail] = leader;
  for (auto& leader : leaders)
    while (leader && leaders[*leader]) leader = leaders[*leader];
  return leaders;
}

/// The filter of each table, by the rules; nothing where no rule applies. A filter may read datasets that are not
/// taken. Throws usage for a rule that applies to no table, two that apply to one, and invalid conditions.
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

/// Name, elements of a row and dtype of each dataset.
std::vector<std::string> forms_of(const StoredTable& table) {
  std::vector<std::string> forms;
  for (const TablePart& part : table.parts)
    forms.push_back(part.name + " of " + std::to_string(part.row_elements) + " " +
                    (&part == &table.keys() ? "key" : part.dtype.name));
  return forms;
}

/// Whether a table has the tails that only some rows of another one have: one such table for each dimension.
bool is_tail(const StoredTable& table, const std::vector<StoredTable>& tables) {
  return std::any_of(tables.begin(), tables.end(),
                     [&](const StoredTable& other) { return is_tail_of(table.name, other.name); });
}

/// The names of all tables but tails and keys to delete.
std::vector<std::string> names_of(const std::vector<StoredTable>& tables) {
  std::vector<std::string> names;
  for (const StoredTable& table : tables)
    if (table.deletes.empty() && !is_tail(table, tables)) names.push_back(table.name);
  return names;
}

const StoredTable* find_table(const std::string& name, const std::vector<StoredTable>& tables) {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& each) { return each.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

/// Throws input unless a source has the same tables as the oldest one, apart from tails.
void check_same_names(const TableSource& source, const std::vector<std::string>& names, const TableSource& oldest,
                      const std::vector<std::string>& expected) {
  if (names == expected) return;
  const auto told = [](const std::vector<std::string>& list) { return list.empty() ? "none" : join(list); };
  const auto others = [](const std::vector<std::string>& list, const std::vector<std::string>& without) {
    std::vector<std::string> rest;
    std::set_difference(list.begin(), list.end(), without.begin(), without.end(), std::back_inserter(rest));
    return rest;
  };
  const bool look_alike = told(names) == told(expected);  // long lists are cut
  throw Error(
      Kind::input, source.files->path().string(),
      {"it has tables " + told(look_alike ? others(names, expected) : names),
       "those of " + oldest.files->path().string() + ": " + told(look_alike ? others(expected, names) : expected),
       "a table of which nothing has changed has no rows; --only and --drop choose tables"});
}

/// A table as the oldest source that has it describes it.
struct KnownTable {
  StoredTable table;
  const TableSource* source;
};

void check_same_form(const TableSource& source, const StoredTable& table, const KnownTable& known) {
  const std::string path = source.files->path().string();
  const std::string before = known.source->files->path().string();
  if (const std::string names = other_names(table.fields, known.table.fields); !names.empty())
    throw Error(Kind::input, path,
                {"of table '" + table.name + "' " + names + " in " + before, "the same columns",
                 "one of the layouts is not that of its files (accessor, \"fields\")"});
  if (forms_of(table) != forms_of(known.table))
    throw Error(Kind::input, path,
                {"table '" + table.name + "' is made of " + join(forms_of(table)),
                 join(forms_of(known.table)) + ", as in " + before,
                 "a newer row stands in the place of an older one as a whole"});
}

/// An empty table of tails for a source that lacks it: none of its rows has this many dimensions.
StoredTable without_rows(StoredTable table) {
  table.rows = {0};
  table.shards.reset();
  return table;
}

/// Adds empty tables of tails, so that every source has all that any source has.
void add_absent(const std::map<std::string, KnownTable>& all, std::vector<StoredTable>& tables) {
  for (const auto& [name, known] : all)
    if (find_table(name, tables) == nullptr) tables.push_back(without_rows(known.table));
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

/// A source's tables; keys to delete are attached to the table from which they delete.
std::vector<PlannedLayer> layer_of(const ReshardJob& job, const TableSource& source, bool is_alone,
                                   std::vector<StoredTable> tables) {
  auto filters = table_filters(job.keeps, tables, *source.placement);
  std::vector<PlannedLayer> layer;
  for (std::size_t i = 0; i < tables.size(); ++i)
    if (is_alone || tables[i].deletes.empty()) layer.push_back({tables[i], std::move(filters[i]), {}, {}, {}});
  for (const StoredTable& table : tables) {
    if (is_alone || table.deletes.empty()) continue;
    const auto of = std::find_if(layer.begin(), layer.end(),
                                 [&](const PlannedLayer& each) { return each.table.name == table.deletes; });
    if (of != layer.end()) of->deletions = table;
  }
  return layer;
}

/// Tails go with their rows, and cannot be deleted otherwise.
void check_not_deleted(const PlannedTable& tails, const std::string& leader) {
  for (const PlannedLayer& layer : tails.layers)
    if (layer.deletions && layer.deletions->total_rows() != 0)
      throw Error(Kind::input, "dataset " + layer.deletions->name,
                  {"it names keys to delete: " + std::to_string(layer.deletions->total_rows()),
                   "none, for '" + layer.table.name + "' follows '" + leader + "'",
                   "name deleted keys there; a newer row without a tail stands for one that has lost it"});
}

/// The value of a file's root attribute `base_key`; empty if there is none.
std::string base_key(const Checkpoint& source) {
  for (const FileCatalog& file : source.files()) {
    if (file.schema == nullptr) continue;
    for (const Attribute& attribute : file.schema->attributes)
      if (attribute.name == "base_key") {
        if (const auto text = text_in(attribute.value)) return *text;
        if (attribute.value.count() == 1 && attribute.value.bytes.size() == attribute.value.dtype.size)
          return element_text(attribute.value.dtype, std::as_bytes(std::span(attribute.value.bytes)).data());
      }
  }
  return "";
}

}  // namespace

namespace {

/// The chosen tables; with several sources also the keys to delete, which are not datasets of the output.
std::vector<StoredTable> taken_tables(const TableSource& source, const NameFilter& name_filter, bool is_alone) {
  std::set<std::string> deletions;
  if (!is_alone)
    for (const StoredTable& table : stored_tables(*source.placement))
      if (!table.deletes.empty()) deletions.insert(table.keys().name);
  return stored_tables(*source.placement, [&](ParameterId parameter) {
    const std::string& name = source.placement->tensors()[parameter].name;
    return name_filter.is_kept(name) || deletions.contains(name);
  });
}

}  // namespace

std::vector<PlannedTable> layered_tables(const ReshardJob& job, const std::vector<TableSource>& sources) {
  const NameFilter name_filter(job.names);
  std::vector<std::vector<StoredTable>> tables;
  std::map<std::string, KnownTable> all;
  for (const TableSource& source : sources) {
    tables.push_back(taken_tables(source, name_filter, sources.size() == 1));
    check_same_names(source, names_of(tables.back()), sources.front(), names_of(tables.front()));
    for (const StoredTable& table : tables.back()) {
      if (!table.deletes.empty()) continue;
      const auto [known, is_new] = all.try_emplace(table.name, KnownTable{table, &source});
      if (!is_new) check_same_form(source, table, known->second);
    }
  }
  if (sources.size() > 1)
    for (auto& of_source : tables) add_absent(all, of_source);
  std::vector<PlannedTable> planned;
  for (std::size_t at = 0; at < sources.size(); ++at) {
    std::vector<PlannedLayer> layer = layer_of(job, sources[at], sources.size() == 1, std::move(tables[at]));
    planned.resize(layer.size());
    for (std::size_t i = 0; i < layer.size(); ++i) planned[i].layers.push_back(std::move(layer[i]));
  }
  std::vector<StoredTable> oldest;
  for (const PlannedTable& each : planned) oldest.push_back(each.layers.front().table);
  const auto leaders = table_leaders(oldest);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    planned[i].leader = leaders[i];
    if (leaders[i]) check_not_deleted(planned[i], oldest[*leaders[i]].name);
  }
  return planned;
}

void add_of_other_layers(const std::vector<PlannedTable>& tables, const std::vector<TableSource>& sources,
                         std::size_t principal, Selection& selection) {
  const Placement& source = *sources[principal].placement;
  for (const PlannedTable& table : tables) {
    const StoredTable& taken = table.layers[principal].table;
    if (!table.leader || source.find(taken.keys().name)) continue;
    const StoredTable& leader = tables[*table.leader].layers[principal].table;
    for (const TablePart& part : taken.parts) {
      const auto has = std::find_if(sources.begin(), sources.end(), [&](const TableSource& each) {
        return each.placement->find(part.name).has_value();
      });
      selection.insert(has->placement->tensors()[*has->placement->find(part.name)],
                       (&part == &taken.keys() ? leader.parts.front() : leader.parts.back()).parameter);
    }
  }
}

std::vector<std::string> names_of_layers(const std::vector<const Checkpoint*>& sources) {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path above;
  for (const Checkpoint* source : sources) {
    paths.push_back(std::filesystem::weakly_canonical(source->path()));
    if (!paths.back().has_filename()) paths.back() = paths.back().parent_path();
    if (paths.size() == 1) above = paths.back().parent_path();
    while (paths.back().lexically_relative(above).begin()->string() == "..") above = above.parent_path();
    if (paths.back() == above) above = above.parent_path();
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& path : paths) names.push_back(path.lexically_relative(above).generic_string());
  return names;
}

std::vector<Attribute> newest_attributes(const std::vector<const Checkpoint*>& sources) {
  std::map<std::string, Attribute> newest;
  for (const Checkpoint* source : sources) {
    std::map<std::string, Attribute> of_source;
    for (const FileCatalog& file : source->files())
      if (file.schema != nullptr)
        for (const Attribute& attribute : file.schema->attributes) of_source.emplace(attribute.name, attribute);
    of_source.merge(newest);
    newest = std::move(of_source);
  }
  std::vector<Attribute> attributes;
  for (auto& [name, attribute] : newest) attributes.push_back(std::move(attribute));
  return attributes;
}

std::map<std::string, std::vector<KeptRows>> kept_before(const std::vector<const Checkpoint*>& sources) {
  std::map<std::string, std::vector<KeptRows>> all;
  for (const Checkpoint* source : sources)
    for (const auto& [name, table] : tables_in_manifest(*source))
      for (const KeptRows& kept : all_kept(table)) {
        std::vector<KeptRows>& known = all[name];
        if (std::none_of(known.begin(), known.end(),
                         [&](const KeptRows& each) { return each.where == kept.where && each.as == kept.as; }))
          known.push_back(kept);
      }
  return all;
}

void warn_of_filtered(const ReshardJob& job, const std::vector<const Checkpoint*>& sources) {
  if (job.output.is_single_file) return;
  for (const Checkpoint* source : sources) warn_of_filtered(tables_in_manifest(*source), source->path());
}

void warn_of_filtered(const std::map<std::string, ManifestTable>& tables, const std::filesystem::path& source) {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables)
    if (!all_kept(table).empty()) names.push_back(name);
  if (!names.empty())
    log::warn("{}: of table {} it has only the rows that a condition left: training must not go on from them",
              source.string(), join(names));
}

void check_base_keys(const std::vector<const Checkpoint*>& sources) {
  const Checkpoint* known = nullptr;
  for (const Checkpoint* source : sources) {
    const std::string key = base_key(*source);
    if (key.empty()) continue;
    if (known != nullptr && base_key(*known) != key)
      throw Error(Kind::input, source->path().string(),
                  {"it is of the base with base_key " + key, base_key(*known) + ", as in " + known->path().string(),
                   "a delta can only be put on the base that it was made for"});
    if (known == nullptr) known = source;
  }
}

}  // namespace ckpt
