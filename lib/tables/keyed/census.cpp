#include "tables/keyed/census.hpp"

#include <algorithm>
#include <mutex>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "processes/gather_all.hpp"
#include "tables/keyed/duplicates.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_batch_bytes = 64ULL << 20;  // the journal's limit for one run
constexpr std::uint64_t least_batch_bytes = 64ULL << 10;
constexpr std::uint64_t best_batch_bytes = 4ULL << 20;  // later passes over it mostly hit the core's cache
constexpr std::uint64_t best_run_bytes = 64ULL << 10;   // bytes that a batch has for each place that it goes to

std::uint64_t table_memory(const Resources& resources) {
  return resources.memory_bytes / 2;
}

/// A run of one process's batches, without a batch of another in between.
struct CountedRun {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> rows;  // by group
};

class CensusTaker {
 public:
  /// A thread's buffers, which it reuses for each batch.
  struct Work {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> placed;
  };

  CensusTaker(const StoredTable& table, TableReader& reader, const std::optional<RowGroups>& to)
      : table_(table), reader_(reader), to_(to) {}

  /// Counts a batch's rows in `count`, which has an entry for each group of the target. `kept`: see TableShare; empty:
  /// all.
  void count(const Batch& batch, std::span<const std::uint64_t> kept, std::span<std::uint64_t> count, Work& work) {
    auto& [keys, placed] = work;
    keys.resize(static_cast<std::size_t>(batch.rows.size()));
    reader_.read_keys(table_, batch.server, batch.rows.lo, keys);
    if (table_.place) {
      reader_.read_placed(table_, *table_.place, batch.server, batch.rows.lo, keys, placed);
      table_.shards ? check_shards(batch, keys, placed) : check_servers(batch, keys, placed);
    }
    if (to_) reader_.read_placed(table_, to_->place(), batch.server, batch.rows.lo, keys, placed);
    if (!kept.empty()) {
      const std::size_t rows = keep_rows(kept, std::as_writable_bytes(std::span(keys)), sizeof(std::uint64_t));
      if (to_) keep_rows(kept, std::as_writable_bytes(std::span(placed)), sizeof(std::uint64_t));
      keys.resize(rows);
      placed.resize(to_ ? rows : 0);
    }
    PartialSum sum;
    table_.keys().sums.add_all(std::as_bytes(std::span(keys)).data(), nullptr, keys.size(), sum);
    std::uint64_t changing = 0;
    if (to_) {
      to_->apply(placed);
      for (std::size_t i = 0; i < placed.size(); ++i) {
        if (placed[i] == KeyPlace::nowhere) refuse_homeless(batch, keys[i]);
        ++count[placed[i]];
        changing += to_->server_of(placed[i]) == batch.server ? 0 : 1;
      }
    }
    const std::lock_guard lock(mutex_);
    keys_ += sum;
    keys_.bytes += keys.size();
    changing_ += changing;
  }

  const PartialSum& keys() const noexcept { return keys_; }  ///< of this process
  std::uint64_t changing() const noexcept { return changing_; }

 private:
  void check_servers(const Batch& batch, const std::vector<std::uint64_t>& keys,
                     std::span<std::uint64_t> placed) const {
    table_.place->apply(placed);
    for (std::size_t row = 0; row < placed.size(); ++row)
      if (placed[row] != batch.server) refuse_misplaced(batch, row, keys[row], placed[row]);
  }

  void check_shards(const Batch& batch, const std::vector<std::uint64_t>& keys, std::span<std::uint64_t> placed) const {
    const RowGroups& groups = table_.shards->groups;
    const std::vector<std::uint64_t>& offsets = table_.shards->offsets[batch.server];
    groups.apply(placed);
    const auto next = std::upper_bound(offsets.begin(), offsets.end(), batch.rows.lo);
    std::uint64_t group = groups.of_server(batch.server).lo + static_cast<std::uint64_t>(next - offsets.begin()) - 1;
    for (std::size_t row = 0; row < placed.size(); ++row) {
      while (offsets[group + 1 - groups.of_server(batch.server).lo] <= batch.rows.lo + row) ++group;
      if (placed[row] == group) continue;
      const std::uint64_t server = placed[row] == KeyPlace::nowhere ? placed[row] : groups.server_of(placed[row]);
      if (server != batch.server) refuse_misplaced(batch, row, keys[row], server);
      refuse_wrong_shard(batch, row, keys[row], {groups.shard_of(placed[row]), groups.shard_of(group)});
    }
  }

  std::string place_of(const Batch& batch, std::size_t row, std::uint64_t key) const {
    return "row " + std::to_string(batch.rows.lo + row) + " has key " + table_.key_text(key);
  }

  [[noreturn]] void refuse_misplaced(const Batch& batch, std::size_t row, std::uint64_t key,
                                     std::uint64_t server) const {
    const std::string& origin = reader_.checkpoint().layout().origin;
    const bool is_nowhere = server == KeyPlace::nowhere;
    throw Error(
        Kind::input, reader_.describe(table_.keys(), batch.server),
        {place_of(batch, row, key) + (is_nowhere ? ", which belongs on no server" : ", which belongs on server ") +
             (is_nowhere ? "" : std::to_string(server) + " of " + std::to_string(table_.rows.size())),
         "keys of server " + std::to_string(batch.server) + ", by \"place\" of table '" + table_.name + "' in " +
             origin,
         "if many keys do, it was saved with another \"place\" (number of shards, of servers, signed keys); "
         "\"place\": \"any\" takes keys wherever they lie"});
  }

  [[noreturn]] void refuse_wrong_shard(const Batch& batch, std::size_t row, std::uint64_t key,
                                       const std::pair<std::uint64_t, std::uint64_t>& shard_and_found) const {
    const auto& [shard, found] = shard_and_found;
    throw Error(Kind::input, reader_.describe(table_.keys(), batch.server),
                {place_of(batch, row, key) + ", of shard " + std::to_string(shard) + ", among those of shard " +
                     std::to_string(found),
                 "keys of shard " + std::to_string(found) + " there, by \"place\" of table '" + table_.name + "' in " +
                     reader_.checkpoint().layout().origin + " and by " + table_.shards->part.name,
                 "if many keys do, it was saved with another \"place\"; \"order\": \"source\", and \"rows\" without "
                 "the offsets, take any order"});
  }

  [[noreturn]] void refuse_homeless(const Batch& batch, std::uint64_t key) const {
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(batch.rows.size()));
    reader_.read_keys(table_, batch.server, batch.rows.lo, keys);
    const auto row = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    throw Error(
        Kind::input, reader_.describe(table_.keys(), batch.server),
        {place_of(batch, row, key) + ", for which the target's \"place\" has no server",
         "a server for each key of table '" + table_.name + "'",
         "keys beyond \"rows\", and negative ones under \"truncate\", have none: change the target's \"place\""});
  }

  const StoredTable& table_;
  TableReader& reader_;
  const std::optional<RowGroups>& to_;
  std::mutex mutex_;
  PartialSum keys_;
  std::uint64_t changing_ = 0;
};

/// Replaces each own batch's counts by the number of a group's rows in earlier batches. Returns each group's total.
std::vector<std::uint64_t> add_up_counts(TableCensus& census, Communicator& processes) {
  const std::uint64_t groups = census.groups;
  std::vector<CountedRun> runs;
  for (std::size_t i = 0; i < census.share.own.size(); ++i) {
    if (i == 0 || census.share.own[i] != census.share.own[i - 1] + 1)
      runs.push_back({census.share.own[i], std::vector<std::uint64_t>(groups, 0)});
    for (std::size_t group = 0; group < groups; ++group) runs.back().rows[group] += census.start[i * groups + group];
  }
  std::vector<CountedRun> all;
  for (auto& of_process : gather_all(runs, processes)) all.insert(all.end(), of_process.begin(), of_process.end());
  std::sort(all.begin(), all.end(), [](const CountedRun& a, const CountedRun& b) { return a.first < b.first; });
  std::vector<std::uint64_t> rows(groups, 0);
  auto run = all.begin();
  std::vector<std::uint64_t> at;  // rows before the next own batch
  const auto add = [&] {
    for (std::size_t group = 0; group < groups; ++group) rows[group] += run->rows[group];
  };
  for (std::size_t i = 0; i < census.share.own.size(); ++i) {
    for (; run != all.end() && run->first <= census.share.own[i]; ++run) {
      if (run->first == census.share.own[i]) at = rows;
      add();
    }
    for (std::size_t group = 0; group < groups; ++group)
      at[group] += std::exchange(census.start[i * groups + group], at[group]);
  }
  for (; run != all.end(); ++run) add();
  return rows;
}

/// The records of batches grow with their number: many small batches take too much if there are many groups.
void check_room(const StoredTable& table, std::uint64_t batches, std::uint64_t groups, const CensusContext& context) {
  constexpr std::uint64_t always = 16ULL << 20;
  const std::uint64_t bytes = checked_mul(checked_mul(batches, groups, "batches"), sizeof(std::uint64_t), "batches");
  if (bytes <= std::max(context.memory_bytes, always)) return;
  throw Error(Kind::usage, "--memory",
              {"table '" + table.name + "' has " + std::to_string(batches) + " batches of rows, which go to " +
                   std::to_string(groups) + " places each: " + format_bytes(bytes) + " to know them",
               "at most " + format_bytes(context.memory_bytes), "more memory, or more processes, do it"});
}

}  // namespace

CensusContext census_context(const Resources& resources, Communicator& processes) {
  return {table_memory(resources), static_cast<unsigned>(processes.maximum(thread_count(resources, processes)))};
}

std::uint64_t received_memory(const Resources& resources) {
  return table_memory(resources) / 4;
}

std::uint64_t batch_bytes(std::uint64_t memory_bytes, unsigned threads) {
  constexpr std::uint64_t copies = 4;
  return std::clamp(memory_bytes / (copies * threads), least_batch_bytes, most_batch_bytes);
}

TableShare share_table(const StoredTable& table, const Checkpoint& checkpoint, std::uint64_t groups,
                       const CensusContext& context, const Communicator& processes) {
  const auto process_count = static_cast<std::uint32_t>(processes.size());
  const std::uint64_t most = batch_bytes(context.memory_bytes, context.threads);
  const std::uint64_t bytes = std::min(most, std::max(best_batch_bytes, groups * best_run_bytes));
  TableShare share;
  share.batches = Batches(table.rows, std::max<std::uint64_t>(bytes / table.row_bytes(), 1));
  share.own = share.batches.share(checkpoint, static_cast<std::uint32_t>(processes.rank()), process_count);
  check_room(table, share.own.size(), groups, context);
  return share;
}

TableCensus take_census(const StoredTable& table, TableReader& reader, const std::optional<RowGroups>& to,
                        TableShare share, const CensusContext& context, Communicator& processes) {
  TableCensus census;
  census.share = std::move(share);
  census.groups = to ? to->count() : 0;
  CensusTaker taker(table, reader, to);
  agree(processes, [&] {
    census.start.resize(census.share.own.size() * census.groups);
    for_each_in_parallel(
        context.threads, census.share.own.size(), [] { return CensusTaker::Work(); },
        [&](CensusTaker::Work& work, std::uint64_t i) {
          taker.count(census.share.batches[census.share.own[i]], census.share.kept_in(i),
                      std::span(census.start).subspan(i * census.groups, census.groups), work);
        });
  });
  const PartialSum own = taker.keys();
  census.keys = {processes.sum(own.low), processes.sum(own.high), processes.sum(own.bytes)};
  census.changing = processes.sum(taker.changing());
  if (to) census.group_rows = add_up_counts(census, processes);
  check_no_duplicates(table, reader, context.memory_bytes / 2, context.threads, processes);
  return census;
}

void place_rows(std::span<TableCensus* const> layers, const RowGroups& to) {
  std::vector<std::uint64_t> rows(to.count(), 0);
  for (const TableCensus* layer : layers)
    for (std::size_t group = 0; group < rows.size(); ++group) rows[group] += layer->group_rows[group];
  const auto offsets = group_offsets(to, rows);
  std::vector<std::uint64_t> begin;  // by group, on its server
  for (const auto& of_server : offsets) begin.insert(begin.end(), of_server.begin(), of_server.end() - 1);
  for (TableCensus* layer : layers) {
    layer->offsets = offsets;
    layer->rows.clear();
    for (const auto& of_server : offsets) layer->rows.push_back(of_server.back());
    for (std::size_t i = 0; i < layer->start.size(); ++i) layer->start[i] += begin[i % begin.size()];
    for (std::size_t group = 0; group < begin.size(); ++group) begin[group] += layer->group_rows[group];
  }
}

PartialSum check_keys(const StoredTable& table, TableReader& reader, const CensusContext& context,
                      Communicator& processes) {
  TableShare share;
  agree(processes, [&] { share = share_table(table, reader.checkpoint(), 0, context, processes); });
  return take_census(table, reader, std::nullopt, std::move(share), context, processes).keys;
}

}  // namespace ckpt
