#include "jobs/table_layers.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/read_manifest.hpp"
#include "jobs/table_filters.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

/// "f32 [n, 7]" of each dataset, by name.
std::vector<std::string> forms_of(const StoredTable& table) {
  std::vector<std::string> forms;
  for (const TablePart& part : table.parts)
    forms.push_back(part.name + " of " + std::to_string(part.row_elements) + " " +
                    (&part == &table.keys() ? "key" : part.dtype.name));
  return forms;
}

std::string names_of(const std::vector<StoredTable>& tables) {
  std::vector<std::string> names;
  for (const StoredTable& table : tables)
    if (table.deletes.empty()) names.push_back(table.name);
  return names.empty() ? "none" : join(names);
}

void check_same_tables(const TableSource& source, const std::vector<StoredTable>& tables, const TableSource& oldest,
                       const std::vector<StoredTable>& expected) {
  if (names_of(tables) != names_of(expected))
    throw Error(Kind::input, source.files->path().string(),
                {"it has tables " + names_of(tables),
                 "expected those of " + oldest.files->path().string() + ": " + names_of(expected),
                 "a table of which nothing has changed has no rows; --only and --drop choose tables"});
  for (std::size_t i = 0, j = 0; i < tables.size() && j < expected.size(); ++i, ++j) {
    while (i < tables.size() && !tables[i].deletes.empty()) ++i;
    while (j < expected.size() && !expected[j].deletes.empty()) ++j;
    if (i == tables.size() || forms_of(tables[i]) == forms_of(expected[j])) continue;
    throw Error(Kind::input, source.files->path().string(),
                {"table '" + tables[i].name + "' is made of " + join(forms_of(tables[i])),
                 "expected " + join(forms_of(expected[j])) + ", as in " + oldest.files->path().string(),
                 "a newer row stands in the place of an older one as a whole"});
  }
}

/// A source's tables, with what only belongs to one of them put there.
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

/// Tails go with their rows: there is no other way to lose one.
void check_not_deleted(const PlannedTable& tails, const std::string& leader) {
  for (const PlannedLayer& layer : tails.layers)
    if (layer.deletions && layer.deletions->total_rows() != 0)
      throw Error(Kind::input, "dataset " + layer.deletions->name,
                  {"it names keys to delete: " + std::to_string(layer.deletions->total_rows()),
                   "expected none, for '" + layer.table.name + "' follows '" + leader + "'",
                   "name deleted keys there; a newer row without a tail stands for one that has lost it"});
}

/// What a file's root attribute `base_key` says; empty: nothing.
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

std::vector<PlannedTable> layered_tables(const ReshardJob& job, const std::vector<TableSource>& sources) {
  const Wishes wishes(job.names);
  std::vector<std::vector<StoredTable>> tables;
  for (const TableSource& source : sources) {
    tables.push_back(stored_tables(*source.placement, [&](ParameterId parameter) {
      return wishes.is_kept(source.placement->tensors()[parameter].name);
    }));
    check_same_tables(source, tables.back(), sources.front(), tables.front());
  }
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

void warn_of_filtered(const ReshardJob& job, const std::vector<const Checkpoint*>& sources) {
  if (job.output.is_single_file) return;
  for (const Checkpoint* source : sources)
    if (const auto names = filtered_tables(source->path()); !names.empty())
      spdlog::warn("{}: of table {} it has only the rows that a condition left: training must not go on from them",
                   source->path().string(), join(names));
}

void check_base_keys(const std::vector<const Checkpoint*>& sources) {
  const Checkpoint* known = nullptr;
  for (const Checkpoint* source : sources) {
    const std::string key = base_key(*source);
    if (key.empty()) continue;
    if (known != nullptr && base_key(*known) != key)
      throw Error(Kind::input, source->path().string(),
                  {"it is of the base with base_key " + key,
                   "expected " + base_key(*known) + ", as in " + known->path().string(),
                   "a delta can only be put on the base that it was made for"});
    if (known == nullptr) known = source;
  }
}

}  // namespace ckpt
