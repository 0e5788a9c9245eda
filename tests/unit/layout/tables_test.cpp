#include "catch.hpp"
#include "layout/placement/resolve.hpp"
#include "layout/tables/table_rows.hpp"
#include "unit/layout/refused_layout.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::string layout_text(const std::string& table) {
  return R"({"ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [3]}, "files": "s{server}.h5",
             "parameters": [{"name": "*", "at": {"server": 0}}], "tables": [{)" +
         table + "}]}";
}

const std::string embedding = R"("name": "embedding*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server")";
const std::string by_mod = R"("place": [{"mod": "servers"}])";

StoredArray array(const std::string& name, const char* dtype, Shape shape) {
  return {name, number_type(dtype).value(), std::move(shape), std::nullopt, false};
}

CardArrays server_of(std::uint64_t rows, std::uint64_t values) {
  return std::make_shared<const std::vector<StoredArray>>(
      std::vector<StoredArray>{array("embedding.x/keys", "u64", {rows}), array("embedding.x/value", "f32", {values, 9}),
                               array("embedding/keys", "i64", {rows}), array("embedding/slot", "u8", {rows}),
                               array("embedding/value", "f32", {values, 7})});
}

std::string refused(const std::vector<CardArrays>& files) {
  try {
    resolve_source(parse_layout(layout_text(embedding + ", " + by_mod), "a.json"), files);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("a table's datasets are parameters, cut by the rows of each server") {
  const Layout layout = parse_layout(layout_text(embedding + ", " + by_mod), "a.json");
  const Placement placement = resolve_source(layout, {server_of(5, 5), server_of(0, 0), server_of(2, 2)}).placement;
  REQUIRE(placement.tensors().size() == 5);
  const auto value = placement.find("embedding/value").value();
  CHECK(placement.tensors()[value].shape == Shape{7, 7});
  CHECK(placement.stored_shape(placement.array_of(value), 0) == Shape{5, 7});
  CHECK(placement.stored_shape(placement.array_of(value), 1) == Shape{0, 7});
  CHECK(placement.stored_shape(placement.array_of(value), 2) == Shape{2, 7});
  const auto tables = find_tables(layout, {"embedding.x/keys", "embedding.x/value", "embedding/keys", "w"});
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].name == "embedding");
  CHECK(tables[0].rows.empty());
  CHECK(tables[1].rows == std::vector<std::string>{"embedding.x/value"});
}

TEST_CASE("a table that its files do not agree on is refused") {
  CHECK_THAT(refused({server_of(5, 5), server_of(1, 1), server_of(2, 3)}),
             Contains("s2.h5: /embedding/value: it has 3 rows, expected one for each of the 2 keys"));
  const auto without = std::make_shared<const std::vector<StoredArray>>(
      std::vector<StoredArray>{array("embedding.x/keys", "u64", {0}), array("embedding.x/value", "f32", {0, 9})});
  CHECK_THAT(refused({server_of(5, 5), without, server_of(2, 2)}),
             Contains("s1.h5: /embedding/keys: the dataset is absent"));
  const auto narrow =
      std::make_shared<const std::vector<StoredArray>>(std::vector<StoredArray>{array("embedding/keys", "u32", {1})});
  CHECK_THAT(refused({narrow, narrow, narrow}), Contains("s0.h5: /embedding/keys: found u32 [1], expected keys: u64"));
}

TEST_CASE("where shards begin is a dataset of a table that has them, as long as each server's shards") {
  const Layout layout = parse_layout(
      layout_text(embedding + R"(, "place": [{"mod": 10}, {"blocks": "ceil"}], "order": "shard")"), "a.json");
  const auto server = [](std::uint64_t offsets) {
    return std::make_shared<const std::vector<StoredArray>>(std::vector<StoredArray>{
        array("embedding/keys", "u64", {4}), array("embedding/shard_offsets", "u64", {offsets}),
        array("embedding/value", "f32", {4, 7})});
  };
  const Layout counted = resolve_source(layout, {server(5), server(5), server(3)}).placement.layout();
  CHECK(counted.table_offsets == std::set<std::string>{"embedding/shard_offsets"});
  CHECK(counted.table_arrays.at("embedding/shard_offsets").sizes->at(0) == std::vector<std::uint64_t>{5, 5, 3});
  CHECK_THROWS_WITH(
      resolve_source(layout, {server(5), server(4), server(3)}),
      Contains("s1.h5: /embedding/shard_offsets: found u64 [4], expected where each of the server's 4 shards"));
}

TEST_CASE("a dataset that two tables claim is refused") {
  const Layout layout = parse_layout(
      layout_text(R"("name": "*", "keys": "{name}/keys", "rows": ["{name}*"], "axis": "server", )" + by_mod), "a.json");
  CHECK_THROWS_WITH(
      find_tables(layout, {"a/keys", "a/value", "a.x/keys"}),
      Contains("belongs to table 'a' and to table 'a.x'") || Contains("belongs to table 'a.x' and to table 'a'"));
}

TEST_CASE("tables are written as they were read") {
  const std::string steps = R"("place": [{"field": "slot"}, {"mask": "0x7fffffff"}, {"hash": "murmur3_fmix64"}, )"
                            R"({"rows": 40}, {"signed": "floor"}])";
  const std::string good = R"("place": [{"field": "slot"}, {"mask": "0x7fffffff"}, {"hash": "murmur3_fmix64"}, )"
                           R"({"mod": 1000}, {"blocks": "ceil"}], )"
                           R"("order": "source", "fields": {"{name}/slot": ["slot"], "{name}/value": ["a", "b"]})";
  const std::string shards = R"("place": [{"mod": 10}, {"blocks": "ceil"}], "order": "shard", "offsets": "{name}/at")";
  for (const std::string& rest : {good, shards, std::string(R"("place": "any")"), by_mod}) {
    const std::string text = to_json(parse_layout(layout_text(embedding + ", " + rest), "a.json"));
    CHECK(text == to_json(parse_layout(text, "b.json")));
  }
  CHECK_THAT(to_json(parse_layout(layout_text(embedding + ", " + good), "a.json")), Contains(good));
  CHECK_THROWS(parse_layout(layout_text(embedding + ", " + steps), "a.json"));
}

TEST_CASE("tables that are not well formed are refused with their place") {
  const auto with_place = [](const std::string& place) { return layout_text(embedding + ", \"place\": " + place); };
  check_refused({
      {layout_text(embedding), "a.json: /tables/0: "},
      {layout_text(embedding + R"(, "place": [], "roes": 1)"), "\"roes\""},
      {with_place("[]"), "a.json: /tables/0/place: "},
      {with_place("\"somewhere\""), "a list of steps, or \"any\""},
      {with_place(R"([{"mod": 0}])"), "a.json: /tables/0/place/0/mod: "},
      {with_place(R"([{"mod": 1000}])"), "a.json: /tables/0/place/0: found values up to 999"},
      {with_place(R"([{"mod": 4, "rows": 4}])"), "expected one step"},
      {with_place(R"([{"mask": "7f"}])"), "hexadecimal digits"},
      {with_place(R"([{"mask": "0x1ffffffffffffffff"}])"), "hexadecimal digits"},
      {with_place(R"([{"field": "slot"}, {"mod": "servers"}])"), "one that \"fields\" names"},
      {with_place(R"([{"hash": "md5"}, {"mod": "servers"}])"), "one of"},
      {layout_text(embedding + ", " + by_mod + R"(, "order": "shard")"),
       "\"shard\" with a \"place\" that has no shards"},
      {layout_text(embedding + R"(, "place": [{"rows": 4000000}, {"blocks": "ceil"}], "order": "shard")"),
       "\"shard\" with 4000000 shards"},
      {layout_text(embedding + R"(, "place": "any", "order": "shard")"), "\"shard\" with \"place\": \"any\""},
      {layout_text(embedding + ", " + by_mod + R"(, "offsets": "{name}/at")"), "without \"order\": \"shard\""},
      {layout_text(R"("name": "e", "keys": "e/keys", "rows": [], "axis": "server", )" + by_mod), "{name} in it, once"},
      {with(R"("tables": [{)" + std::string(R"("name": "e", "keys": "{name}/k", "rows": [], "axis": "tp", )") + by_mod +
            "}]"),
       "a mesh with other axes than \"tp\""},
  });
}
