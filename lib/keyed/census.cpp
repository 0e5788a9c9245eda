#include "keyed/census.hpp"

#include <algorithm>
#include <mutex>

#include "base/parallel.hpp"
#include "keyed/duplicates.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_batch_bytes = 64ULL << 20;  // what the journal takes for one run
constexpr std::uint64_t least_batch_bytes = 64ULL << 10;

/// A run of batches of one process, which no batch of another lies between.
struct CountedRun {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> rows;  // for each target server

  static auto fields(auto& self) { return std::tie(self.first, self.rows); }
};

class CensusTaker {
 public:
  CensusTaker(const StoredTable& table, TableReader& reader, const std::optional<KeyPlace>& to)
      : table_(table), reader_(reader), to_(to) {}

  /// Counts a batch's rows into `count`, which has an entry for each target server.
  void count(const Batch& batch, std::span<std::uint64_t> count) {
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(batch.rows.size()));
    reader_.read_keys(table_, batch.server, batch.rows.lo, keys);
    PartialSum sum;
    for (const std::uint64_t key : keys) table_.keys().sums.add(key, nullptr, sum);
    std::vector<std::uint64_t> servers;
    std::uint64_t changing = 0;
    if (table_.place) {
      reader_.read_placed(table_, *table_.place, batch.server, batch.rows.lo, keys, servers);
      table_.place->apply(servers);
      for (std::size_t row = 0; row < servers.size(); ++row)
        if (servers[row] != batch.server) refuse_misplaced(batch, row, keys[row], servers[row]);
    }
    if (to_) {
      reader_.read_placed(table_, *to_, batch.server, batch.rows.lo, keys, servers);
      to_->apply(servers);
      for (std::size_t row = 0; row < servers.size(); ++row) {
        if (servers[row] == KeyPlace::nowhere) refuse_homeless(batch, row, keys[row]);
        ++count[servers[row]];
        changing += servers[row] == batch.server ? 0 : 1;
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
         "expected keys of server " + std::to_string(batch.server) + ", by \"place\" of table '" + table_.name +
             "' in " + origin,
         "if many keys do, it was saved with another \"place\" (number of shards, of servers, signed keys); "
         "\"place\": \"any\" takes keys wherever they lie"});
  }

  [[noreturn]] void refuse_homeless(const Batch& batch, std::size_t row, std::uint64_t key) const {
    throw Error(
        Kind::input, reader_.describe(table_.keys(), batch.server),
        {place_of(batch, row, key) + ", for which the target's \"place\" has no server",
         "expected a server for each key of table '" + table_.name + "'",
         "keys beyond \"rows\", and negative ones under \"truncate\", have none: change the target's \"place\""});
  }

  const StoredTable& table_;
  TableReader& reader_;
  const std::optional<KeyPlace>& to_;
  std::mutex mutex_;
  PartialSum keys_;
  std::uint64_t changing_ = 0;
};

/// Makes of each own batch's counts where its rows begin, and of those of all batches together the servers' rows.
void add_up_counts(TableCensus& census, std::size_t servers, Communicator& processes) {
  std::vector<CountedRun> runs;
  for (std::size_t i = 0; i < census.own.size(); ++i) {
    if (i == 0 || census.own[i] != census.own[i - 1] + 1)
      runs.push_back({census.own[i], std::vector<std::uint64_t>(servers, 0)});
    for (std::size_t server = 0; server < servers; ++server)
      runs.back().rows[server] += census.start[i * servers + server];
  }
  std::vector<CountedRun> all;
  for (auto& of_process : gather_all(runs, processes)) all.insert(all.end(), of_process.begin(), of_process.end());
  std::sort(all.begin(), all.end(), [](const CountedRun& a, const CountedRun& b) { return a.first < b.first; });
  census.rows.assign(servers, 0);
  auto run = all.begin();
  std::vector<std::uint64_t> at;  // where the next own batch begins
  for (std::size_t i = 0; i < census.own.size(); ++i) {
    for (; run != all.end() && run->first <= census.own[i]; ++run) {
      if (run->first == census.own[i]) at = census.rows;
      for (std::size_t server = 0; server < servers; ++server) census.rows[server] += run->rows[server];
    }
    for (std::size_t server = 0; server < servers; ++server)
      at[server] += std::exchange(census.start[i * servers + server], at[server]);
  }
  for (; run != all.end(); ++run)
    for (std::size_t server = 0; server < servers; ++server) census.rows[server] += run->rows[server];
}

}  // namespace

std::uint64_t batch_bytes(std::uint64_t memory_bytes, unsigned threads, std::uint32_t processes) {
  // Its rows, their packed copy and what is known of them; beside these, what comes from the others.
  const std::uint64_t shares = std::uint64_t{4} * threads * processes;
  return std::clamp(memory_bytes / shares, least_batch_bytes, most_batch_bytes);
}

TableCensus take_census(const StoredTable& table, TableReader& reader, const std::optional<KeyPlace>& to,
                        const CensusMeans& means, Communicator& processes) {
  const auto process_count = static_cast<std::uint32_t>(processes.size());
  const std::size_t servers = to ? to->servers() : 0;
  TableCensus census;
  CensusTaker taker(table, reader, to);
  agree(processes, [&] {
    const std::uint64_t bytes = batch_bytes(means.memory_bytes, means.threads, process_count);
    census.batches = Batches(table.rows, std::max<std::uint64_t>(bytes / table.row_bytes(), 1));
    census.own = census.batches.share(reader.checkpoint(), static_cast<std::uint32_t>(processes.rank()), process_count);
    census.start.resize(census.own.size() * servers);
    for_each_in_parallel(means.threads, census.own.size(), [&](std::uint64_t i) {
      taker.count(census.batches[census.own[i]], std::span(census.start).subspan(i * servers, servers));
    });
  });
  const PartialSum own = taker.keys();
  census.keys = {processes.sum(own.low), processes.sum(own.high), processes.sum(own.bytes)};
  census.changing = processes.sum(taker.changing());
  if (to) add_up_counts(census, servers, processes);
  check_no_duplicates(table, reader, means.memory_bytes / 2, means.threads, processes);
  return census;
}

}  // namespace ckpt
