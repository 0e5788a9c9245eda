#include "keyed/range_move.hpp"

#include <algorithm>

#include "layout/table_json.hpp"

namespace ckpt {

namespace {

/// What gives a key its shard; nothing where that depends on the number of servers.
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

std::vector<std::uint64_t> RangeMove::rows() const {
  std::vector<std::uint64_t> rows;
  for (const auto& of_server : offsets) rows.push_back(of_server.back());
  return rows;
}

std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                    const RowGroups& groups) {
  if (!table.shards || to.order != RowOrder::shard) return std::nullopt;
  const auto steps = steps_to_shard(from);
  if (!steps || steps != steps_to_shard(to) || table.shards->groups.count() != groups.count()) return std::nullopt;
  if (!table.shards->groups.is_in_shard_order() || !groups.is_in_shard_order()) return std::nullopt;
  std::vector<std::uint64_t> rows;  // of each shard
  for (const auto& of_server : table.shards->offsets)
    for (std::size_t shard = 0; shard + 1 < of_server.size(); ++shard)
      rows.push_back(of_server[shard + 1] - of_server[shard]);
  return RangeMove{table, group_offsets(groups, rows)};
}

}  // namespace ckpt
