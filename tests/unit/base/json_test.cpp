#include "base/json.hpp"

#include <map>

#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

const JsonRules rules{Kind::input, "a description", "mend it"};

/// What is said of a text that is refused, the error of the rules' kind.
std::string refused(const std::string& text, const JsonRules& by = rules) {
  try {
    parse_json(text, "a.json", by);
  } catch (const Error& error) {
    CHECK(error.kind() == by.kind);
    return error.what();
  }
  return "";
}

struct Streamed {
  json kept;
  std::map<std::string, json> members;
};

Streamed parse(const std::string& text) {
  Streamed result;
  result.kept = parse_json(text, "a.json", rules, "many",
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
  for (std::size_t i = 0; i < rules.max_values / 3; ++i) ones += ",1";
  ones += "]";
  std::size_t count = 0;
  const auto text = [&](const std::string& before) {
    return "{" + before + R"("many": {"a": )" + ones + R"(, "b": )" + ones + R"(, "c": )" + ones + "}}";
  };
  const auto parse = [&](const std::string& before) {
    parse_json(text(before), "a.json", rules, "many", [&](const std::string&, const json&) { ++count; });
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

TEST_CASE("what is no strict JSON is refused, with its place") {
  CHECK(refused(R"({"a": [1, -2, 3.5e1, true, null, "\ud83d\ude00\u0000"]})").empty());
  CHECK_THAT(refused(R"({"a": 1, "b": {"a": 2, "a": 3}})"), Contains("a.json: /b/a: found the key \"a\" twice"));
  CHECK_THAT(refused("{\"a\": 1,\n \"\xff\": 2}"), Contains("a.json: line 2, column 3: found text that is not JSON"));
  CHECK_THAT(refused(R"(["\ud83d"])"), Contains("surrogate") && Contains("; mend it"));
  CHECK_THAT(refused(R"(["\ude00"])"), Contains("surrogate"));
  CHECK_THAT(refused(R"(["\ud83d\u0041"])"), Contains("surrogate"));
  CHECK_THAT(refused("\"\xed\xa0\x80\""), Contains("UTF-8"));
  CHECK_THAT(refused(std::string("{}\0", 3)), Contains("NUL"));
  for (const char* text : {"", "{} {}", "[1,]", "[NaN]", "[01]", "// 1", "[1e999]"})
    CHECK_THAT(refused(text), Contains("not JSON"));
}

TEST_CASE("depth and number of values are bounded, and the rules say what was expected") {
  const JsonRules narrow{Kind::layout, "three numbers", "", 2, 4};
  CHECK(refused("[[1, 2]]", narrow).empty());
  CHECK_THAT(refused("[[[1]]]", narrow),
             Contains("a.json: /0/0: found lists and objects nested deeper than 2, expected three numbers"));
  CHECK_THAT(refused("[1, 2, 3, 4]", narrow), Contains("more than 4 values"));
}
