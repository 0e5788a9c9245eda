#include "layout/tables/row_groups.hpp"

#include "catch.hpp"

using namespace ckpt;

namespace {

RowGroups groups(const std::vector<PlaceStep>& steps, std::uint64_t servers, RowOrder order = RowOrder::shard) {
  return {KeyPlace(steps, servers), order};
}

std::vector<std::uint64_t> shards_of(const RowGroups& groups, std::uint64_t server) {
  std::vector<std::uint64_t> shards;
  for (std::uint64_t group = groups.of_server(server).lo; group < groups.of_server(server).hi; ++group)
    shards.push_back(groups.shard_of(group));
  return shards;
}

std::vector<std::uint64_t> applied(const RowGroups& groups, std::vector<std::uint64_t> keys) {
  groups.apply(keys);
  return keys;
}

using Shards = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("rows in the source's order are one group on each server") {
  const RowGroups by_server = groups({place_step::Mod{10}, place_step::Mod{}}, 3, RowOrder::source);
  CHECK(by_server.count() == 3);
  CHECK(applied(by_server, {0, 11, 12, 19}) == Shards{0, 1, 2, 0});
  CHECK(by_server.of_server(2) == Interval{2, 3});
}

TEST_CASE("blocks give each server shards that follow one another") {
  const RowGroups blocks = groups({place_step::Mod{10}, place_step::Blocks{Uneven::ceil}}, 4);
  CHECK(blocks.count() == 10);
  CHECK(shards_of(blocks, 1) == Shards{3, 4, 5});
  CHECK(shards_of(blocks, 3) == Shards{9});
  CHECK(applied(blocks, {0, 17, 25, 9}) == Shards{0, 7, 5, 9});
  CHECK(blocks.server_of(9) == 3);
  const RowGroups few = groups({place_step::Mod{2}, place_step::Blocks{Uneven::balanced}}, 4);
  CHECK(shards_of(few, 1) == Shards{1});
  CHECK(shards_of(few, 3).empty());
}

TEST_CASE("a remainder by the servers deals the shards to them in turn") {
  const RowGroups dealt = groups({place_step::Mod{10}, place_step::Mod{}}, 4);
  CHECK(shards_of(dealt, 1) == Shards{1, 5, 9});
  CHECK(shards_of(dealt, 3) == Shards{3, 7});
  const Shards found = applied(dealt, {13, 29, 4});
  CHECK(found == Shards{8, 5, 1});
  CHECK(dealt.server_of(8) == 3);
}

TEST_CASE("a key that no server is for has no group") {
  const RowGroups bounded = groups({place_step::Rows{10}, place_step::Mod{}}, 4);
  CHECK(applied(bounded, {10, 9}) == Shards{KeyPlace::nowhere, 5});
}

TEST_CASE("groups begin where those before them on their server end") {
  const RowGroups dealt = groups({place_step::Mod{5}, place_step::Mod{}}, 2);  // shards 0, 2, 4 and 1, 3
  const std::vector<std::uint64_t> rows{4, 0, 3, 2, 7};
  CHECK(group_offsets(dealt, rows) == std::vector<Shards>{{0, 4, 4, 7}, {0, 2, 9}});
}

TEST_CASE("steps without shards have no groups by shard") {
  CHECK_THROWS(groups({place_step::Mod{}}, 4));
  CHECK_THROWS(groups({place_step::Mod{10}, place_step::Blocks{Uneven::ceil}, place_step::Mask{3}}, 4));
  CHECK_THROWS(groups({place_step::AsSigned{Signedness::floor}, place_step::Mod{}}, 4));
  CHECK_THROWS(groups({place_step::Rows{RowGroups::most_shards + 1}, place_step::Blocks{Uneven::ceil}}, 4));
}
