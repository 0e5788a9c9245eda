#include "report/output.hpp"

#include "catch.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Json = nlohmann::ordered_json;

TEST_CASE("a line stays one line whatever the names in it hold") {
  Lines lines;
  lines.add("w\nb").add("").add(Lines().add("\x1b[2J"));
  CHECK(lines.text() == "w\\x0ab\n\n\\x1b[2J\n");
  CHECK(Lines::as_they_are("a\nb\n").text() == "a\nb\n");
}

TEST_CASE("a table's cells stay in their places") {
  Table table({{"name"}, {"bytes", Table::Column::Kind::number}});
  table.add({"w\nb", "12"});
  table.add({"long enough", "3"});
  CHECK(table.lines(std::nullopt).text() ==
        "name         bytes\n"
        "w\\x0ab          12\n"
        "long enough      3\n");
}

TEST_CASE("names in JSON can be had back, whatever bytes they hold") {
  const Json json{{"name", "w\u202e\n\x1b"}, {"n", 1}};
  CHECK(json_text(json, -1) == "{\"name\":\"w\\u202e\\n\\u001b\",\"n\":1}");
  CHECK(Json::parse(json_text(json)) == json);
  const Json odd{{"list", {{{"name", "w\x9b"}}, "\xff"}}, {"name", "w\\x9b"}};
  const Json back = Json::parse(json_text(odd));
  CHECK(back["list"][0]["name"] == "w\\x9b");
  CHECK(back["list"][0]["name_hex"] == "779b");
  CHECK(back["list"][1] == "\\xff");
  CHECK(back["name"] == "w\\x9b");
  CHECK_FALSE(back.contains("name_hex"));
}
