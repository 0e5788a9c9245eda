#include "catch.hpp"
#include "played_process.hpp"
#include "refused.hpp"
#include "tables/keyed/census.hpp"

using namespace ckpt;
using fixture::Played;
using fixture::refused;

namespace {

constexpr std::uint64_t servers = 1000;
constexpr std::uint64_t rows_of_all = 100'000'000'000;
constexpr int process_count = 64;

/// 10^11 rows of 108 bytes on 1,000 servers, no two of which have the same number of rows.
StoredTable large_table() {
  StoredTable table;
  table.name = "embedding";
  table.parts = {{"embedding/keys", 0, number_type("u64").value(), 1, RowSums("keys", 0)},
                 {"embedding/value", 1, number_type("f32").value(), 25, RowSums("value", 100)}};
  for (std::uint64_t server = 0; server < servers; ++server)
    table.rows.push_back(rows_of_all / servers + 2 * server - (servers - 1));
  return table;
}

Checkpoint checkpoint_of_servers() {
  Layout layout;
  layout.mesh = {{"server"}, {servers}, {}};
  layout.files = CardFiles({FileEntry{FileTemplate("server_{server}.h5", layout.mesh), ""}});
  return Checkpoint::of("out", false, layout, std::vector<std::optional<FileCatalog>>(servers));
}

}  // namespace

// 64 processes of 1 GiB each, half of which is the tables'.
TEST_CASE("10^11 rows on a thousand servers are planned in bounded memory, evenly for 64 processes") {
  const StoredTable table = large_table();
  REQUIRE(table.total_rows() == rows_of_all);
  const Checkpoint checkpoint = checkpoint_of_servers();
  const CensusContext context{512ULL << 20, 2};
  const RowGroups to(KeyPlace({place_step::Mod{1024}, place_step::Blocks{Uneven::ceil}}, servers), RowOrder::source);
  std::uint64_t next = 0;
  std::uint64_t rows = 0;
  std::uint64_t least = rows_of_all;
  std::uint64_t most = 0;
  std::vector<TableCensus> counted;
  for (int process = 0; process < process_count; ++process) {
    const Played played(process, process_count);
    const TableShare share = share_table(table, checkpoint, to.count(), context, played);
    std::uint64_t own = 0;
    for (const std::uint64_t number : share.own) {
      if (number != next++) FAIL("batch " << number << " of process " << process << ", expected " << next - 1);
      const Interval batch = share.batches[number].rows;
      own += batch.size();
      if (batch.size() * table.row_bytes() * 4 * context.threads > context.memory_bytes)
        FAIL("a batch of " << batch.size() << " rows");
    }
    if (process == process_count - 1) CHECK(next == share.batches.count());
    rows += own;
    least = std::min(least, own);
    most = std::max(most, own);
    // What a process keeps of its batches: how many rows of each go to each server, and a bit for each row, if some go.
    CHECK(share.own.size() * to.count() * sizeof(std::uint64_t) <= context.memory_bytes / 8);
  }
  CHECK(rows == rows_of_all);
  CHECK(most - least < most / 100);
  const Played one(0, 1);
  CHECK_THAT(refused(
                 [&] {
                   static_cast<void>(share_table(table, checkpoint, to.count(), {512ULL << 20, 1}, one));
                 },
                 Kind::usage),
             Catch::Matchers::Contains("more memory, or more processes, do it"));
}

TEST_CASE("where rows go is told of numbers beyond 2^32, on a server and in a group") {
  constexpr std::uint64_t few = 4;
  const RowGroups to(KeyPlace({place_step::Mod{16}, place_step::Blocks{Uneven::ceil}}, few), RowOrder::shard);
  TableCensus census;
  census.groups = to.count();
  census.group_rows.assign(to.count(), rows_of_all / to.count());
  census.start.assign(to.count(), 0);
  std::vector<TableCensus*> layers{&census};
  place_rows(layers, to);
  CHECK(census.rows == std::vector<std::uint64_t>(few, 25'000'000'000));
  CHECK(census.offsets[few - 1].back() == 25'000'000'000);
  CHECK(census.start.back() == 18'750'000'000);
}
