#include "tables/phase/table_planner.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

RowGroups target_groups(const PlannedTable& table, const Layout& target) {
  const KeyedTable& entry = target.tables[table.datasets.entry];
  if (!entry.place)
    throw Error(Kind::usage, "table '" + table.datasets.name + "'",
                {target.origin + " says \"place\": \"any\" for it", "steps from a key to its server",
                 "\"any\" is for sources: say \"place\" in the target's layout"});
  RowGroups groups = row_groups(entry, target.mesh.shape[entry.axis]);
  for (const PlannedLayer& layer : table.layers) check_field(layer.table, groups.place(), target.origin);
  return groups;
}

/// Warns if a batch splits into pieces for so many servers or shards that writing takes longer than the bytes alone
/// need.
void warn_of_short_runs(const StoredTable& table, std::uint64_t groups, const Resources& resources, unsigned threads) {
  constexpr std::uint64_t short_run = 16ULL << 10;
  const std::uint64_t batch = batch_bytes(resources.memory_bytes / 2, threads);
  if (batch / groups >= short_run || table.total_rows() * table.row_bytes() <= batch) return;
  const std::uint64_t needed = short_run * groups * (resources.memory_bytes / batch);
  log::warn(
      "table '{}': each batch of {} goes to {} places in runs of about {}, which is slow to write: --memory {} "
      "makes them {}",
      table.name, format_bytes(batch), groups, format_bytes(batch / groups),
      std::to_string(ceil_div(needed, 1ULL << 20)) + "MiB", format_bytes(short_run));
}

void add_offsets_of(const TableDatasets& datasets, const std::vector<std::vector<std::uint64_t>>& offsets,
                    TableRows& rows, TablePlan& plan) {
  for (const auto& of_server : offsets) rows.offsets.push_back(of_server.size());
  plan.offsets.push_back({datasets.offsets, offsets, 0});
}

bool is_filtered(const PlannedTable& table) {
  return table.layers.front().filter.has_value();
}

std::uint64_t rows_of_layers(const PlannedTable& table) {
  std::uint64_t rows = 0;
  for (const PlannedLayer& layer : table.layers) rows += layer.table.total_rows();
  return rows;
}

}  // namespace

TablePlanner::TablePlanner(const ReshardJob& job, const std::vector<const Checkpoint*>& sources, SourceStore& reading,
                           Communicator& processes)
    : job_(job),
      processes_(processes),
      context_(census_context(job.resources, processes)),
      readers_(sources, reading, open_files_allowed(job.resources, processes)) {}

std::vector<TableRows> TablePlanner::add(std::vector<PlannedTable> tables, const Layout& target, TablePlan& plan) {
  for (PlannedTable& each : tables)
    prepare(each, is_layered() || is_filtered(each) || (each.leader && is_filtered(tables[*each.leader])), target);
  for (PlannedTable& each : tables) filter(each, plan);
  for (std::size_t leader = 0; leader < tables.size(); ++leader)
    if (!tables[leader].leader) choose_newest(tables, leader, plan);
  std::vector<TableRows> rows;
  for (PlannedTable& each : tables) rows.push_back(each.range ? add_range(each, plan) : add_move(each, plan));
  return rows;
}

void TablePlanner::prepare(PlannedTable& each, bool loses_rows, const Layout& target) {
  agree(processes_, [&] { each.to = target_groups(each, target); });
  for (std::size_t at = 0; at < each.layers.size(); ++at) {
    PlannedLayer& layer = each.layers[at];
    TableReader& reader = readers_[at];
    reader.read_offsets(layer.table, processes_);
    if (!loses_rows)
      each.range = range_move(layer.table, reader.checkpoint().layout().tables[layer.table.entry],
                              target.tables[each.datasets.entry], *each.to);
    if (layer.deletions) check_keys(*layer.deletions, reader, context_, processes_);
    agree(processes_, [&] {
      if (each.range) return;
      layer.share = share_table(layer.table, reader.checkpoint(), each.to->count(), context_, processes_);
      if (layer.deletions)
        layer.deletion_share = share_table(*layer.deletions, reader.checkpoint(), 0, context_, processes_);
    });
  }
}

void TablePlanner::filter(PlannedTable& each, TablePlan& plan) {
  if (!is_filtered(each)) return;
  std::uint64_t with_nan = 0;
  for (std::size_t at = 0; at < each.layers.size(); ++at) {
    PlannedLayer& layer = each.layers[at];
    with_nan += filter_rows(*layer.filter, readers_[at], context_.threads, layer.share, processes_).dropped_with_nan;
  }
  const std::string& condition = each.layers.front().filter->condition().text();
  plan.kept[each.datasets.name] = {condition, "", rows_of_layers(each), with_nan};
  if (with_nan != 0)
    log::warn("table '{}': {} of the rows that go have NaN where --keep compares: no comparison holds for them",
              each.datasets.name, with_nan);
}

void TablePlanner::choose_newest(std::vector<PlannedTable>& tables, std::size_t leader, TablePlan& plan) {
  std::vector<PlannedTable*> tails;
  for (PlannedTable& each : tables)
    if (each.leader == leader) tails.push_back(&each);
  const bool is_led = is_filtered(tables[leader]) && !tails.empty();
  if (!is_layered() && !is_led) return;
  std::vector<TableLayer> layers;
  for (std::size_t at = 0; at < readers_.count(); ++at) {
    const auto shared = [&](PlannedTable& each) {
      return SharedTable{each.layers[at].table, readers_[at], each.layers[at].share};
    };
    TableLayer& layer = layers.emplace_back(TableLayer{shared(tables[leader]), {}, {}});
    for (PlannedTable* tail : tails) layer.tails.push_back(shared(*tail));
    PlannedLayer& planned = tables[leader].layers[at];
    if (planned.deletions)
      layer.deletions.emplace(SharedTable{*planned.deletions, readers_[at], planned.deletion_share});
  }
  take_newest_rows(layers, context_.memory_bytes, context_.threads, processes_);
  for (const PlannedTable* tail : is_led ? tails : std::vector<PlannedTable*>()) {
    KeptRows& kept = plan.kept[tail->datasets.name];
    kept.as = tables[leader].datasets.name;
    kept.of = rows_of_layers(*tail);
  }
}

TableRows TablePlanner::add_range(PlannedTable& each, TablePlan& plan) {
  PlannedLayer& layer = each.layers.front();
  TableCensus census;
  if (job_.verify != Verify::none)
    census.keys = check_keys(layer.table, readers_[0], context_, processes_);
  else if (processes_.rank() == 0)
    log::warn("table '{}': its shards move whole, and with --verify none no key is looked at", each.datasets.name);
  agree(processes_,
        [&] { census.share = share_table(layer.table, readers_[0].checkpoint(), 0, context_, processes_); });
  census.rows = each.range->rows();
  census.changing = each.range->changing();
  TableRows rows{each.datasets, census.rows, {}};
  add_offsets_of(each.datasets, each.range->offsets(), rows, plan);
  plan.moves.push_back({std::move(layer.table), *each.to, {}, std::move(census), 0, std::move(each.range)});
  return rows;
}

TableRows TablePlanner::add_move(PlannedTable& each, TablePlan& plan) {
  std::vector<TableCensus> counted;
  for (std::size_t at = 0; at < each.layers.size(); ++at)
    counted.push_back(take_census(each.layers[at].table, readers_[at], each.to, std::move(each.layers[at].share),
                                  context_, processes_));
  std::vector<TableCensus*> layers;
  for (TableCensus& census : counted) layers.push_back(&census);
  place_rows(layers, *each.to);
  warn_of_short_runs(each.layers.front().table, each.to->count(), job_.resources, context_.threads);
  TableRows rows{each.datasets, counted.front().rows, {}};
  if (!each.datasets.offsets.empty()) add_offsets_of(each.datasets, counted.front().offsets, rows, plan);
  for (std::size_t at = 0; at < each.layers.size(); ++at)
    plan.moves.push_back({std::move(each.layers[at].table), *each.to, {}, std::move(counted[at]), at, {}});
  return rows;
}

}  // namespace ckpt
