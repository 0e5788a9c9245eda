#include "layout/tables/paddle_tables.hpp"

#include "catch.hpp"
#include "unit/layout/refused_layout.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

std::string text_layout(const std::string& shards, std::uint64_t servers, const std::string& files,
                        const std::string& more = "") {
  return R"({"ckpt_layout": 1, "mesh": {"axes": ["ps"], "shape": [)" + std::to_string(servers) +
         R"(]}, "tables": [{"name": "embedding", "format": "paddle-text", "files": ")" + files +
         R"(", "accessor": {"class": "SparseAccessor", "embedx_dim": 8, "embed_rule": "SparseAdaGradSGDRule",
                            "embedx_rule": "SparseAdamSGDRule"}, "axis": "ps", "place": [{"mod": )" +
         shards + R"(}, {"blocks": "ceil"}]}])" + more + "}";
}

const std::string names = "000/part-{server:03}-{shard:05}";

}  // namespace

TEST_CASE("a table of Paddle's text is read from JSON, and written to it") {
  const Layout layout = parse_layout(text_layout("37", 30, names + ".gz"), "a.json");
  REQUIRE(has_paddle_text(layout));
  const PaddleText& text = *layout.tables[0].text;
  CHECK(text.directory == "000");
  CHECK(text.is_gzip);
  CHECK(text.shards == 37);
  CHECK(text.accessor.embedx_rule == SgdRule::adam);
  CHECK(layout.tables[0].fields.at("{name}/value").back() == "embed_g2sum");
  const std::string json = to_json(layout);
  CHECK(to_json(parse_layout(json, "again")) == json);
  CHECK(json.find("\"files\": \"000/part-{server:03}-{shard:05}.gz\"") != std::string::npos);
}

TEST_CASE("a shard's file lies with the server that Paddle gives it") {
  const Layout layout = parse_layout(text_layout("10", 7, names), "a.json");
  // ceil(10 / 7) each: 2 2 2 2 2 0 0.
  CHECK(servers_of_shards(layout.tables[0], 7) == std::vector<std::uint64_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(file_names(layout).size() == 10);
  CHECK(file_names(layout)[9] == "000/part-004-00009");
  CHECK(file_names(parse_layout(text_layout("1000", 3, names), "a.json"))[668] == "000/part-002-00668");
}

TEST_CASE("layouts of text are without what Paddle's files cannot have") {
  check_refused({{text_layout("10", 2, "part-{server:03}-{shard:05}"), "a.json: /tables/0/files: found"},
                 {text_layout("10", 2, "a/../part-{server:03}-{shard:05}"), "a.json: /tables/0/files: found"},
                 {text_layout("10", 2, "/a/part-{server:03}-{shard:05}"), "a.json: /tables/0/files: found"},
                 {text_layout("10", 2, "000/part-{server}-{shard:05}"), "a.json: /tables/0/files: found"},
                 {text_layout("100001", 2, names), "found shard_num 100001, expected at most 100000"},
                 {text_layout("100000", 1001, names), "found 1001 servers, expected at most 1000"},
                 {text_layout("10", 2, names, R"(, "files": "x.h5")"),
                  "a.json: /files: found \"files\" beside nothing but tables"},
                 {text_layout("10", 2, names, R"(, "parameters": [])"), "beside others, and no \"files\""}});
}
