#include "tables/phase/table_plan.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <span>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "layout/names/literal.hpp"
#include "layout/tables/table_rows.hpp"

namespace ckpt {

namespace {

/// A single file keeps its tables, on its one card, so that they can be taken apart again. `tables`: includes those
/// that only some of the sources have.
void keep_tables(const std::vector<TableSource>& sources, const Layout& principal,
                 const std::vector<PlannedTable>& tables, Layout& target) {
  target.tables = principal.tables;
  const auto is_known = [&](const std::string& name) {
    return std::any_of(target.tables.begin(), target.tables.end(),
                       [&](const KeyedTable& entry) { return entry.name.matches(name); });
  };
  for (const PlannedTable& table : tables)
    for (std::size_t at = 0; at < sources.size(); ++at) {
      const StoredTable& stored = table.layers[at].table;
      if (is_known(stored.name) || !sources[at].placement->find(stored.keys().name)) continue;
      target.tables.push_back(sources[at].placement->layout().tables[stored.entry]);
      target.tables.back().name = Pattern(literal(stored.name));  // its entry may be for others, too
    }
  for (KeyedTable& table : target.tables) {
    table.axis = 0;
    table.by_shard.reset();
    if (table.order == RowOrder::source) table.place = std::vector<PlaceStep>{place_step::Mod{}};
  }
}

[[noreturn]] void refuse_table(const std::string& table, const std::string& found, const std::string& expected,
                               const std::string& remedy = {}) {
  throw Error(Kind::usage, "table '" + table + "'", {found, expected, remedy});
}

void check_tables_possible(const ReshardJob& job, const std::string& table) {
  if (job.target.file_bytes)
    refuse_table(table, "it is to go into files of a size", "a target with servers", "give the target's layout");
  if (job.is_view)
    refuse_table(table, "the output is only to show what the source has (--virtual)",
                 "files of its own: rows lie in another order there", "leave out --virtual");
  if (job.output.is_pipe)
    refuse_table(table, "it is to go to a pipe", "files: its rows are not written in their order",
                 "give the output a path");
  if (job.resources.exchange == ExchangeKind::nccl)
    refuse_table(table, "it is to go through GPUs", "the exchange mpi, direct or auto",
                 "leave out --exchange nccl: where rows go is decided by their keys, on the host");
}

/// Throws if a job would change datasets of a table that it takes.
void check_table_selection(const StoredTable& table, const Placement& source, const Selection& selection) {
  for (const TablePart& part : table.parts) {
    const auto parameter = source.find(part.name);
    if (!parameter) continue;  // only other sources have it
    // Datasets of other layers name their leader's dataset as their source; prefer the one with the part's own name.
    auto at = selection.find(part.name);
    if (!at || selection.source_of[*at] != *parameter)
      at = std::find(selection.source_of.begin(), selection.source_of.end(), *parameter) - selection.source_of.begin();
    const Tensor& tensor = selection.tensors.at(*at);
    if (tensor.name != part.name)
      refuse_table(table.name, part.name + " is to be renamed " + tensor.name, "tables under their own names",
                   "let OLD of --rename match other parameters only");
    if (!(tensor.dtype == source.tensors()[*parameter].dtype))
      refuse_table(table.name, part.name + " is to be cast to " + tensor.dtype.name,
                   "datasets of tables in their own dtypes",
                   "name what else is to be cast: --cast '" + tensor.dtype.name + ":PATTERN'");
  }
}

std::vector<std::string> part_names(const StoredTable& table) {
  std::vector<std::string> names;
  for (const TablePart& part : table.parts) names.push_back(part.name);
  return names;
}

/// Both layouts must give a column the same name, if they name it. An entry's tables of tails have their own columns.
void check_columns(const StoredTable& table, const TableDatasets& target_table, const std::vector<TableDatasets>& found,
                   const std::string& from, const Layout& target) {
  if (shares_entry(target_table, found)) return;
  const std::string names = other_names(table.fields, columns_of(target.tables[target_table.entry], table, false));
  if (!names.empty())
    refuse_table(table.name, names + " in " + target.origin, "the columns of " + from,
                 "which of the layouts is that of the files (accessor, \"fields\")?");
}

/// The target's tables, which must be the same as the source's; else throws.
std::vector<TableDatasets> targets_of(const std::vector<StoredTable>& tables, const Selection& selection,
                                      const std::string& from, const Layout& target) {
  std::vector<std::string> names;
  for (const Tensor& tensor : selection.tensors) names.push_back(tensor.name);
  std::vector<TableDatasets> found = find_tables(target, names);
  for (const StoredTable& table : tables) {
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const auto& each) { return each.name == table.name; });
    if (same == found.end())
      refuse_table(table.name, "no entry of \"tables\" in " + target.origin + " matches it", "one that does",
                   "add one, or leave the table out");
    std::vector<std::string> datasets{same->keys};
    datasets.insert(datasets.end(), same->rows.begin(), same->rows.end());
    if (datasets != part_names(table))
      refuse_table(table.name, target.origin + " makes it of " + join(datasets),
                   join(part_names(table)) + ", as in " + from, "say the same \"keys\" and \"rows\" in both");
    check_columns(table, *same, found, from, target);
  }
  for (const TableDatasets& table : found)
    if (std::none_of(tables.begin(), tables.end(), [&](const auto& each) { return each.name == table.name; }))
      refuse_table(table.name, from + " has no such table", "it in the \"tables\" of both layouts",
                   "\"place\": \"any\" in the source's takes keys wherever they lie");
  return found;
}

void warn_of_none(const TableRows& table, const TablePlan& plan) {
  const auto kept = plan.kept.find(table.datasets.name);
  const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(), [](std::uint64_t rows) { return rows == 0; });
  if (is_empty && kept != plan.kept.end() && kept->second.of != 0 && kept->second.as.empty())
    log::warn("table '{}': --keep leaves none of its {} rows: {}", table.datasets.name, kept->second.of,
              kept->second.where);
}

Tensor& tensor_of(const std::string& name, Selection& selection) {
  return selection.tensors.at(selection.find(name).value());
}

/// Sets the length of a table's datasets to the number of rows taken.
void set_rows(const TableRows& table, Selection& selection) {
  const std::uint64_t rows = std::accumulate(table.rows.begin(), table.rows.end(), std::uint64_t{0});
  const auto set = [&](const std::string& name) {
    Tensor& tensor = tensor_of(name, selection);
    tensor.shape = tensor.shape.with(0, rows);
  };
  set(table.datasets.keys);
  for (const std::string& name : table.datasets.rows) set(name);
}

/// Adds the target's offsets. Their recorded source is never read unless the source has these offsets itself.
void add_offsets(const StoredTable& table, const TableOffsets& offsets, Selection& selection) {
  std::uint64_t elements = 0;
  for (const auto& of_server : offsets.of_server) elements += of_server.size();
  if (selection.find(offsets.dataset))
    refuse_table(table.name, "the dataset " + offsets.dataset + " is in the source, as something else",
                 "to write there where its shards begin", "give it another name with \"offsets\"");
  const ParameterId keys = selection.source_of[selection.find(table.keys().name).value()];
  selection.insert({offsets.dataset, number_type("u64").value(), {elements}, false},
                   table.shards ? table.shards->part.parameter : keys);
}

}  // namespace

PlannedTables plan_tables(const ReshardJob& job, const std::vector<TableSource>& sources, std::size_t principal,
                          Selection& selection, Layout target, SourceStore& reading, Communicator& processes) {
  const Placement& source = *sources[principal].placement;
  PlannedTables planned{{}, std::move(target)};
  std::vector<const Checkpoint*> files;
  for (const TableSource& each : sources) files.push_back(each.files);
  for (const Checkpoint* each : files) static_cast<void>(carried_manifest(*each, processes));
  std::vector<PlannedTable> tables;
  std::vector<StoredTable> taken;  // as the principal source has them
  agree(processes, [&] {
    check_base_keys(files);
    warn_of_filtered(job, files);
    tables = layered_tables(job, sources);
    for (const PlannedTable& table : tables) taken.push_back(table.layers[principal].table);
    add_of_other_layers(tables, sources, principal, selection);
    if (sources.size() > 1 && tables.empty())
      throw Error(Kind::usage, "--delta", {"the source has no tables", "tables by key that deltas change", ""});
    leave_out_of_tables(source, sources.size() > 1, selection);
    for (const StoredTable& table : taken) {
      check_tables_possible(job, table.name);
      check_table_selection(table, source, selection);
    }
    const bool is_one_card = planned.target.mesh.size() == 1 && planned.target.mesh.axes.size() == 1;
    if (!tables.empty() && planned.target.tables.empty() && is_one_card)
      keep_tables(sources, source.layout(), tables, planned.target);
    const auto found = targets_of(taken, selection, source.layout().origin, planned.target);
    for (std::size_t i = 0; i < tables.size(); ++i) tables[i].datasets = found[i];
  });
  if (tables.empty()) return planned;
  set_decoding_memory(reading, job.resources.memory_bytes / 4);
  agree(processes, [&] {
    if (sources.size() > 1) planned.plan.layers = names_of_layers(files);
    planned.plan.kept_before = kept_before(files);
  });
  TablePlanner planner(job, files, reading, processes);
  const std::vector<TableRows> rows = planner.add(std::move(tables), planned.target, planned.plan);
  agree(processes, [&] {
    for (const TableRows& table : rows) {
      set_rows(table, selection);
      warn_of_none(table, planned.plan);
    }
    for (const TableOffsets& offsets : planned.plan.offsets) {
      const auto of = std::find_if(rows.begin(), rows.end(),
                                   [&](const TableRows& table) { return table.datasets.offsets == offsets.dataset; });
      add_offsets(taken[static_cast<std::size_t>(of - rows.begin())], offsets, selection);
    }
  });
  planned.target = with_table_rows(std::move(planned.target), rows);
  return planned;
}

namespace {

/// The final check: rows of another form would overlap others' places.
void check_rows_fit(const TablePart& part, const Tensor& tensor, const std::string& table) {
  const auto elements =
      std::accumulate(tensor.shape.begin() + 1, tensor.shape.end(), std::uint64_t{1}, std::multiplies<>());
  if (elements != part.row_elements || tensor.dtype.size != part.dtype.size)
    refuse_table(table, part.name + " has rows of " + std::to_string(part.row_elements) + " " + part.dtype.name,
                 std::to_string(elements) + " " + tensor.dtype.name + " as in the output");
}

}  // namespace

void find_target_arrays(const Placement& target, TablePlan& plan) {
  for (TableMove& move : plan.moves)
    for (const TablePart& part : move.table.parts) {
      const ParameterId parameter = target.find(part.name).value();
      check_rows_fit(part, target.tensors()[parameter], move.table.name);
      move.arrays.push_back(target.array_of(parameter));
    }
  for (TableOffsets& offsets : plan.offsets) offsets.array = target.array_of(target.find(offsets.dataset).value());
}

std::set<ArrayId> table_arrays(const TablePlan& plan) {
  std::set<ArrayId> arrays;
  for (const TableMove& move : plan.moves) arrays.insert(move.arrays.begin(), move.arrays.end());
  for (const TableOffsets& offsets : plan.offsets) arrays.insert(offsets.array);
  return arrays;
}

namespace {

/// The moves of one table; `first` is that of its oldest layer.
std::span<const TableMove> layers_of(const std::vector<TableMove>& moves, std::size_t first) {
  std::size_t end = first + 1;
  while (end < moves.size() && moves[end].layer != 0) ++end;
  return std::span(moves).subspan(first, end - first);
}

/// The sums of each dataset on one server, over `layers` moves from `first` on.
std::vector<PartialSum> sums_on(Position server, std::size_t parts, std::size_t first, std::size_t layers,
                                const TableShuffle::Sums& sums) {
  std::vector<PartialSum> all(parts);
  for (std::size_t move = first; move < first + layers && !sums.empty(); ++move)
    for (std::size_t part = 0; part < parts; ++part) all[part] += sums[move][server][part];
  return all;
}

}  // namespace

std::vector<ManifestTable> manifest_tables(const TablePlan& plan, const TableShuffle::Sums& sums,
                                           bool with_fingerprints) {
  std::vector<ManifestTable> tables;
  for (std::size_t first = 0; first < plan.moves.size();) {
    const auto layers = layers_of(plan.moves, first);
    const StoredTable& stored = layers.front().table;
    ManifestTable& table = tables.emplace_back(
        ManifestTable{stored.name, part_names(stored), layers.front().census.rows, {}, {}, {}, {}, {}});
    if (const auto kept = plan.kept.find(table.name); kept != plan.kept.end()) table.kept = kept->second;
    if (const auto kept = plan.kept_before.find(table.name); kept != plan.kept_before.end())
      table.kept_before = kept->second;
    if (layers.size() > 1)
      for (const TableMove& layer : layers)
        table.layers.push_back({plan.layers[layer.layer], layer.table.total_rows(), layer.census.keys.bytes});
    if (with_fingerprints) {
      std::vector<PartialSum> all(stored.parts.size());
      for (Position server = 0; server < table.rows.size(); ++server) {
        auto& of_server = table.servers.emplace_back();
        const auto found = sums_on(server, all.size(), first, layers.size(), sums);
        for (std::size_t part = 0; part < all.size(); ++part) {
          of_server.push_back(row_fingerprint(found[part]));
          all[part] += found[part];
        }
      }
      for (const PartialSum& sum : all) table.all.push_back(row_fingerprint(sum));
    }
    first += layers.size();
  }
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tables;
}

void leave_out_of_tables(const Placement& source, bool deletions, Selection& selection) {
  const Layout& layout = source.layout();
  std::set<std::string> names = layout.table_offsets;
  if (deletions && !layout.tables.empty()) {
    std::vector<std::string> datasets;
    for (const auto& [name, keys] : layout.table_arrays) datasets.push_back(name);
    for (const TableDatasets& table : find_tables(layout, datasets))
      if (!table.deletes.empty()) names.insert(table.keys);
  }
  for (std::size_t i = selection.tensors.size(); i-- > 0;) {
    if (!names.contains(source.tensors()[selection.source_of[i]].name)) continue;
    selection.tensors.erase(selection.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    selection.source_of.erase(selection.source_of.begin() + static_cast<std::ptrdiff_t>(i));
    if (!selection.links.empty()) selection.links.erase(selection.links.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Finished without_tables(const Finished& finished, const Placement& target, const TablePlan& plan) {
  Finished all = finished;
  for (const ArrayId array : table_arrays(plan))
    for (Position card = 0; card < target.mesh().size(); ++card) {
      const Interval whole{0, numel(target.stored_shape(array, card))};
      for (const Interval& rest : finished.rest(card, array, whole))
        if (!rest.empty()) all.add(card, array, rest);
    }
  return all;
}

}  // namespace ckpt
