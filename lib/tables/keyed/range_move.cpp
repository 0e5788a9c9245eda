#include "tables/keyed/range_move.hpp"

#include <algorithm>

#include "layout/tables/table_json.hpp"

namespace ckpt {

namespace {

/// Returns the steps from a key to its shard; nothing if they depend on the number of servers.
std::optional<std::vector<std::string>> steps_to_shard(const KeyedTable& table) {
  std::vector<std::string> steps;
  for (std::size_t i = 0; i + 1 < table.place->size(); ++i) {
    const PlaceStep& step = table.place->at(i);
    if (const auto* mod = std::get_if<place_step::Mod>(&step); mod != nullptr && mod->by == 0) return std::nullopt;
    steps.push_back(to_json(step));
  }
  return steps;
}

}  // namespace

std::vector<RowRun> RangeMove::runs(Position server, const Interval& rows) const {
  const std::vector<RowRun>& all = of_server_[server];
  std::vector<RowRun> runs;
  auto run = std::upper_bound(all.begin(), all.end(), rows.lo,
                              [](std::uint64_t row, const RowRun& each) { return row < each.rows.hi; });
  for (; run != all.end() && run->rows.lo < rows.hi; ++run) {
    const Interval part = intersect(run->rows, rows);
    runs.push_back({part, run->server, run->first + (part.lo - run->rows.lo)});
  }
  return runs;
}

std::vector<std::uint64_t> RangeMove::rows() const {
  std::vector<std::uint64_t> rows;
  for (const auto& of_server : offsets_) rows.push_back(of_server.back());
  return rows;
}

std::uint64_t RangeMove::changing() const {
  std::uint64_t rows = 0;
  for (Position server = 0; server < of_server_.size(); ++server)
    for (const RowRun& run : of_server_[server]) rows += run.server == server ? 0 : run.rows.size();
  return rows;
}

std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                    const RowGroups& groups) {
  if (!table.shards || to.order != RowOrder::shard) return std::nullopt;
  const RowGroups& before = table.shards->groups;
  const auto steps = steps_to_shard(from);
  if (!steps || steps != steps_to_shard(to) || before.count() != groups.count()) return std::nullopt;
  std::vector<std::uint64_t> group_of(groups.count());  // by shard, on the target
  for (std::uint64_t group = 0; group < groups.count(); ++group) group_of[groups.shard_of(group)] = group;
  std::vector<std::uint64_t> rows(groups.count());  // by group
  const auto each_shard = [&](const auto& visit) {
    for (Position server = 0; server < table.shards->offsets.size(); ++server) {
      const std::vector<std::uint64_t>& offsets = table.shards->offsets[server];
      for (std::size_t local = 0; local + 1 < offsets.size(); ++local)
        visit(server, Interval{offsets[local], offsets[local + 1]},
              group_of[before.shard_of(before.of_server(server).lo + local)]);
    }
  };
  each_shard([&](Position, const Interval& shard, std::uint64_t group) { rows[group] = shard.size(); });
  RangeMove move;
  move.offsets_ = group_offsets(groups, rows);
  move.of_server_.resize(table.shards->offsets.size());
  each_shard([&](Position server, const Interval& shard, std::uint64_t group) {
    if (shard.empty()) return;
    const std::uint64_t target = groups.server_of(group);
    const std::uint64_t first = move.offsets_[target][group - groups.of_server(target).lo];
    std::vector<RowRun>& runs = move.of_server_[server];
    if (!runs.empty() && runs.back().server == target && runs.back().first + runs.back().rows.size() == first)
      runs.back().rows.hi = shard.hi;
    else
      runs.push_back({shard, static_cast<Position>(target), first});
  });
  return move;
}

}  // namespace ckpt
