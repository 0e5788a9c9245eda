#include "layout/parse_json.hpp"

#include <map>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

struct Streamed {
  json kept;
  std::map<std::string, json> members;
};

Streamed parse(const std::string& text) {
  Streamed result;
  result.kept = parsing::parse_json(text, "a.json", "many",
                                    [&](const std::string& name, const json& value) { result.members[name] = value; });
  return result;
}

}  // namespace

TEST_CASE("members of one object are handed over whole and not kept, all else is kept") {
  const auto found = parse(
      R"({"before": {"many": {"x": 1}}, "many": {"a": 1, "b": {"c": [1, {"d": 2}], "many": {}}, "e": [], "f": {}}, "after": [3]})");
  CHECK(found.kept == json::parse(R"({"before": {"many": {"x": 1}}, "many": {}, "after": [3]})"));
  CHECK(found.members == std::map<std::string, json>{{"a", 1},
                                                     {"b", json::parse(R"({"c": [1, {"d": 2}], "many": {}})")},
                                                     {"e", json::array()},
                                                     {"f", json::object()}});
}

TEST_CASE("what is not an object by that name is kept") {
  for (const std::string text : {R"({"many": [1, {"a": 2}]})", R"({"many": 3})", R"([{"many": {"a": 1}}])", R"({})"}) {
    const auto found = parse(text);
    CHECK(found.kept == json::parse(text));
    CHECK(found.members.empty());
  }
}

TEST_CASE("any number of members comes, but one of them, and all that is kept, is bounded") {
  std::string ones = "[1";
  for (std::size_t i = 0; i < parsing::max_json_values / 3; ++i) ones += ",1";
  ones += "]";
  std::size_t count = 0;
  const auto text = [&](const std::string& before) {
    return "{" + before + R"("many": {"a": )" + ones + R"(, "b": )" + ones + R"(, "c": )" + ones + "}}";
  };
  const auto parse = [&](const std::string& before) {
    parsing::parse_json(text(before), "a.json", "many", [&](const std::string&, const json&) { ++count; });
  };
  parse("");
  CHECK(count == 3);
  CHECK_THROWS_WITH(parse(R"("kept": [)" + ones + "," + ones + "],"),
                    Contains("a.json: /many/a") && Contains("values"));
}

TEST_CASE("errors within what is not kept say where they are") {
  CHECK_THROWS_WITH(parse(R"({"many": {"a": 1, "b": {"c": 1, "c": 2}}})"),
                    Contains("/many/b/c: found the key \"c\" twice"));
  CHECK_THROWS_WITH(parse("{\"many\": {\"a\": 1,\n \"b\": ,}}"), Contains("line 2, column 7"));
}
