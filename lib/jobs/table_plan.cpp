#include "jobs/table_plan.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "layout/table_rows.hpp"

namespace ckpt {

namespace {

/// A single file keeps its tables, on its one card: they can be taken apart again.
void keep_tables(const Layout& source, Layout& target) {
  target.tables = source.tables;
  for (KeyedTable& table : target.tables) {
    table.axis = 0;
    if (table.order == RowOrder::source) table.place = std::vector<PlaceStep>{place_step::Mod{}};
  }
}

[[noreturn]] void refuse_table(const std::string& table, const std::string& found, const std::string& expected,
                               const std::string& remedy = {}) {
  throw Error(Kind::usage, "table '" + table + "'", {found, expected, remedy});
}

void check_tables_possible(const ReshardJob& job, const std::string& table) {
  if (job.target.file_bytes)
    refuse_table(table, "it is to go into files of a size", "expected a target with servers",
                 "give the target's layout");
  if (job.is_view)
    refuse_table(table, "the output is only to show what the source has (--virtual)",
                 "expected files of its own: rows lie in another order there");
  if (job.output.is_pipe)
    refuse_table(table, "it is to go to a pipe", "expected files: its rows are not written in their order");
  if (job.resources.exchange == ExchangeKind::nccl)
    refuse_table(table, "it is to go through GPUs", "expected the exchange mpi, direct or auto",
                 "where rows go is decided by their keys, on the host");
}

/// What is taken of a table has to stay what it is.
void check_table_selection(const StoredTable& table, const Placement& source, const Selection& selection) {
  for (const TablePart& part : table.parts) {
    const auto at = std::find(selection.source_of.begin(), selection.source_of.end(), part.parameter);
    const Tensor& tensor = selection.tensors[static_cast<std::size_t>(at - selection.source_of.begin())];
    if (tensor.name != part.name)
      refuse_table(table.name, part.name + " is to be renamed " + tensor.name,
                   "expected datasets of tables under their own names");
    if (!(tensor.dtype == source.tensors()[part.parameter].dtype))
      refuse_table(table.name, part.name + " is to be cast to " + tensor.dtype.name,
                   "expected datasets of tables in their own dtypes");
  }
}

std::vector<std::string> part_names(const StoredTable& table) {
  std::vector<std::string> names;
  for (const TablePart& part : table.parts) names.push_back(part.name);
  return names;
}

/// What the target's layout makes of the tables that are taken: the same, or it is refused.
std::vector<TableDatasets> targets_of(const std::vector<StoredTable>& tables, const Selection& selection,
                                      const std::string& from, const Layout& target) {
  std::vector<std::string> names;
  for (const Tensor& tensor : selection.tensors) names.push_back(tensor.name);
  std::vector<TableDatasets> found = find_tables(target, names);
  for (const StoredTable& table : tables) {
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const auto& each) { return each.name == table.name; });
    if (same == found.end())
      refuse_table(table.name, "no entry of \"tables\" in " + target.origin + " matches it", "expected one that does",
                   "add one, or leave the table out");
    std::vector<std::string> datasets{same->keys};
    datasets.insert(datasets.end(), same->rows.begin(), same->rows.end());
    if (datasets != part_names(table))
      refuse_table(table.name, target.origin + " makes it of " + join(datasets),
                   "expected " + join(part_names(table)) + ", as in " + from,
                   "say the same \"keys\" and \"rows\" in both");
  }
  for (const TableDatasets& table : found)
    if (std::none_of(tables.begin(), tables.end(), [&](const auto& each) { return each.name == table.name; }))
      refuse_table(table.name, from + " has no such table", "expected it in the \"tables\" of both layouts",
                   "\"place\": \"any\" in the source's takes keys wherever they lie");
  return found;
}

RowGroups target_groups(const StoredTable& table, const TableDatasets& datasets, const Layout& target) {
  const KeyedTable& entry = target.tables[datasets.entry];
  if (!entry.place)
    refuse_table(table.name, target.origin + " says \"place\": \"any\" for it",
                 "expected steps from a key to its server",
                 "\"any\" is for sources: say \"place\" in the target's layout");
  RowGroups groups = row_groups(entry, target.mesh.shape[entry.axis]);
  check_field(table, groups.place(), target.origin);
  return groups;
}

/// Where a batch comes apart into pieces for so many servers, or shards, that their writing takes longer than their
/// bytes do.
void warn_of_short_runs(const StoredTable& table, std::uint64_t groups, const Resources& resources, unsigned threads,
                        std::uint32_t processes) {
  constexpr std::uint64_t short_run = 16ULL << 10;
  const std::uint64_t batch = batch_bytes(resources.memory_bytes / 2, threads, processes);
  if (batch / groups >= short_run || table.total_rows() * table.row_bytes() <= batch) return;
  const std::uint64_t needed = short_run * groups * (resources.memory_bytes / batch);
  spdlog::warn(
      "table '{}': each batch of {} goes to {} places in runs of about {}, which is slow to write: --memory {} "
      "makes them {}",
      table.name, format_bytes(batch), groups, format_bytes(batch / groups),
      std::to_string(ceil_div(needed, 1ULL << 20)) + "MiB", format_bytes(short_run));
}

/// Adds the target's. What it is said to come from is never read, where it is not the same of the source.
void add_offsets(const StoredTable& table, const TableOffsets& offsets, Selection& selection) {
  std::uint64_t elements = 0;
  for (const auto& of_server : offsets.of_server) elements += of_server.size();
  const auto at = std::lower_bound(selection.tensors.begin(), selection.tensors.end(), offsets.dataset,
                                   [](const Tensor& tensor, const std::string& name) { return tensor.name < name; });
  if (at != selection.tensors.end() && at->name == offsets.dataset)
    refuse_table(table.name, "the dataset " + offsets.dataset + " is in the source, as something else",
                 "expected to write there where its shards begin", "give it another name with \"offsets\"");
  const auto index = at - selection.tensors.begin();
  selection.tensors.insert(at, {offsets.dataset, number_type("u64").value(), {elements}, false});
  selection.source_of.insert(selection.source_of.begin() + index,
                             table.shards ? table.shards->part.parameter : table.keys().parameter);
}

/// One table's part of a plan.
class TablePlanner {
 public:
  TablePlanner(const ReshardJob& job, const Checkpoint& checkpoint, SourceStore& reading, Communicator& processes)
      : job_(job),
        processes_(processes),
        means_{job.resources.memory_bytes / 2, thread_count(job.resources, processes)},
        reader_(checkpoint, reading, open_files_allowed(job.resources, processes)) {}

  /// Gives the rows, and the offsets, that each of the target's servers gets.
  TableRows add(StoredTable table, const TableDatasets& datasets, const Layout& target, TablePlan& plan) {
    std::optional<RowGroups> to;
    agree(processes_, [&] { to = target_groups(table, datasets, target); });
    reader_.read_offsets(table, processes_);
    auto range =
        range_move(table, reader_.checkpoint().layout().tables[table.entry], target.tables[datasets.entry], *to);
    if (range && job_.verify == Verify::reread) take_census(table, reader_, std::nullopt, means_, processes_);
    if (range) {
      TableRows rows{datasets, range->rows(), {}};
      add_offsets_of(datasets, range->offsets, rows, plan);
      plan.ranges.push_back(std::move(*range));
      return rows;
    }
    TableCensus census = take_census(table, reader_, to, means_, processes_);
    warn_of_short_runs(table, to->count(), job_.resources, means_.threads,
                       static_cast<std::uint32_t>(processes_.size()));
    TableRows rows{datasets, census.rows, {}};
    if (!datasets.offsets.empty()) add_offsets_of(datasets, census.offsets, rows, plan);
    plan.moves.push_back({std::move(table), std::move(*to), {}, std::move(census)});
    return rows;
  }

 private:
  static void add_offsets_of(const TableDatasets& datasets, const std::vector<std::vector<std::uint64_t>>& offsets,
                             TableRows& rows, TablePlan& plan) {
    for (const auto& of_server : offsets) rows.offsets.push_back(of_server.size());
    plan.offsets.push_back({datasets.offsets, offsets, 0});
  }

  const ReshardJob& job_;
  Communicator& processes_;
  CensusMeans means_;
  TableReader reader_;
};

}  // namespace

PlannedTables plan_tables(const ReshardJob& job, const Checkpoint& checkpoint, const Placement& source,
                          Selection& selection, Layout target, SourceStore& reading, Communicator& processes) {
  PlannedTables planned{{}, std::move(target)};
  std::vector<StoredTable> tables;
  std::vector<TableDatasets> found;
  agree(processes, [&] {
    const std::set<ParameterId> taken(selection.source_of.begin(), selection.source_of.end());
    tables = stored_tables(source, [&](ParameterId parameter) { return taken.contains(parameter); });
    leave_out_offsets(source, selection);
    for (const StoredTable& table : tables) {
      check_tables_possible(job, table.name);
      check_table_selection(table, source, selection);
    }
    const bool is_one_card = planned.target.mesh.size() == 1 && planned.target.mesh.axes.size() == 1;
    if (!tables.empty() && planned.target.tables.empty() && is_one_card) keep_tables(source.layout(), planned.target);
    found = targets_of(tables, selection, source.layout().origin, planned.target);
  });
  if (tables.empty()) return planned;
  reading.set_decoding_memory(job.resources.memory_bytes / 4);
  TablePlanner planner(job, checkpoint, reading, processes);
  std::vector<TableRows> rows;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    rows.push_back(planner.add(tables[i], found[i], planned.target, planned.plan));
    agree(processes, [&] {
      if (!found[i].offsets.empty()) add_offsets(tables[i], planned.plan.offsets.back(), selection);
    });
  }
  planned.target = with_table_rows(std::move(planned.target), rows);
  return planned;
}

void find_target_arrays(const Placement& target, TablePlan& plan) {
  for (TableMove& move : plan.moves)
    for (const TablePart& part : move.table.parts)
      move.arrays.push_back(target.array_of(target.find(part.name).value()));
  for (TableOffsets& offsets : plan.offsets) offsets.array = target.array_of(target.find(offsets.dataset).value());
}

std::set<ArrayId> table_arrays(const TablePlan& plan) {
  std::set<ArrayId> arrays;
  for (const TableMove& move : plan.moves) arrays.insert(move.arrays.begin(), move.arrays.end());
  for (const TableOffsets& offsets : plan.offsets) arrays.insert(offsets.array);
  return arrays;
}

std::vector<ManifestTable> manifest_tables(const TablePlan& plan, const TableShuffle::Sums& sums,
                                           bool with_fingerprints) {
  std::vector<ManifestTable> tables;
  const std::vector<TableMove>& moves = plan.moves;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    const std::size_t parts = moves[m].table.parts.size();
    ManifestTable& table = tables.emplace_back(
        ManifestTable{moves[m].table.name, part_names(moves[m].table), moves[m].census.rows, {}, {}});
    if (!with_fingerprints) continue;
    std::vector<PartialSum> all(parts);
    for (std::size_t server = 0; server < table.rows.size(); ++server) {
      auto& of_server = table.servers.emplace_back();
      for (std::size_t part = 0; part < parts; ++part) {
        const PartialSum sum = sums.empty() ? PartialSum{} : sums[m][server][part];
        of_server.push_back(row_fingerprint(sum));
        all[part] += sum;
      }
    }
    for (const PartialSum& sum : all) table.all.push_back(row_fingerprint(sum));
  }
  for (const RangeMove& range : plan.ranges)
    tables.push_back({range.table.name, part_names(range.table), range.rows(), {}, {}});
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tables;
}

Finished without_tables(const Finished& finished, const Placement& target, const TablePlan& plan) {
  Finished all = finished;
  for (const ArrayId array : table_arrays(plan))
    for (Position card = 0; card < target.mesh().size(); ++card) {
      const Interval whole{0, volume(target.stored_shape(array, card))};
      for (const Interval& rest : finished.rest(card, array, whole))
        if (!rest.empty()) all.add(card, array, rest);
    }
  return all;
}

}  // namespace ckpt
