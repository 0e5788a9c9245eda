#include "catch.hpp"
#include "fixtures.hpp"
#include "inspect/inspect_program.hpp"
#include "inspect/logical_view.hpp"
#include "layout/placement/resolve.hpp"
#include "report/card_ids.hpp"
#include "report/table.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

const Manual manual{"inspect", "ckpt-inspect", "PATH", "Shows.", {}, "0 done.", {}};

Placement placement_of(const std::string& layout, const std::vector<Tensor>& tensors) {
  return resolve_target(parse_layout(layout, "a.json"), tensors).placement;
}

DType f32() {
  return *number_type("f32");
}

}  // namespace

TEST_CASE("ckpt-inspect's options") {
  const auto options =
      parse_inspect_options(manual, {"--layout", "a", "dir", "--param", "w*", "--param", "[b]", "--json"});
  CHECK(options.path == "dir");
  CHECK(options.layout == "a");
  CHECK(options.only == std::vector<std::string>{"w*", "[b]"});
  CHECK(options.json);
  CHECK_THAT(caught([] { parse_inspect_options(manual, {}); }).message, Contains("PATH: missing"));
}

TEST_CASE("a table is aligned, and its numbers stand to the right") {
  Table table({{"name", Table::Column::Kind::flexible}, {"n", Table::Column::Kind::number}, {"last"}});
  table.add({"a", "1", "x"});
  table.add({"longer", "1,000", ""});
  CHECK(table.lines(std::nullopt).text() ==
        "name        n  last\n"
        "a           1  x\n"
        "longer  1,000\n");
}

TEST_CASE("where space is short, a table's cells go on in further lines, and names are never cut") {
  Table table({{"name", Table::Column::Kind::flexible},
               {"n", Table::Column::Kind::number},
               {"cards", Table::Column::Kind::flexible}});
  table.add({"decoder.layers.10.attn.qkv.weight", "7", "[1, 2] on 0-31, 48"});
  table.add({"decoder.layers.11.attn.qkv.weight", "8", ""});
  CHECK(table.lines(48).text() ==
        "name                               n  cards\n"
        "decoder.layers.10.attn.qkv.weight  7  [1, 2] on\n"
        "                                      0-31, 48\n"
        "decoder.layers.11.attn.qkv.weight  8\n");
  CHECK(table.lines(36).text() ==
        "name\n"
        "  n  cards\n"
        "decoder.layers.10.attn.qkv.weight\n"
        "  7  [1, 2] on 0-31, 48\n"
        "decoder.layers.11.attn.qkv.weight\n"
        "  8\n");
}

TEST_CASE("a table without flexible columns is narrowed word by word") {
  Table table({{"name"}, {"largest abs"}, {"differing"}});
  table.add({"w", "0.5", "2 of 4"});
  CHECK(table.lines(20).text() ==
        "name\n"
        "  largest  differing\n"
        "  abs\n"
        "w\n"
        "  0.5      2 of 4\n");
}

TEST_CASE("text is cut after spaces, and within long words by characters") {
  CHECK(wrapped("", 3) == std::vector<std::string>{""});
  CHECK(wrapped("ab cd ef", 5) == std::vector<std::string>{"ab cd", "ef"});
  CHECK(wrapped("äöüßä", 2) == std::vector<std::string>{"äö", "üß", "ä"});
}

TEST_CASE("ids of cards are told in runs") {
  const auto text = [](std::vector<std::uint64_t> ids) { return CardIds(std::move(ids)).text(); };
  CHECK(text({}).empty());
  CHECK(text({48, 2, 1, 0}) == "0-2, 48");
  CHECK(text({0, 8, 16, 24}) == "0-24:8");
  CHECK(text({0, 4, 5, 6}) == "0, 4-6");
  CHECK(text({1, 5}) == "1, 5");
  CHECK(text({0, 1, 4, 5, 8, 9, 12, 13, 20, 21}) == "0-1, 4-5, 8-9, 12-13, … (2 more)");
  CHECK(CardIds({0, 1, 4, 5, 8, 9, 12, 13, 20, 21}).text(5) == "0-1, 4-5, 8-9, 12-13, 20-21");
  CHECK(CardIds({3, 4, 9}).count() == 3);
}

TEST_CASE("text is shortened in the middle, by characters") {
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdefg", 6) == "abc…fg");
  CHECK(shortened("äöüßäöü", 5) == "äö…öü");
  CHECK(length_of("äöü…") == 4);
}

TEST_CASE("the logical view tells shape, copies and the rule that decided") {
  const auto placement = placement_of(
      R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [2, 3]}, "default": "replicate",
          "parameters": [{"name": ["l.*", "x"], "split": ["tp"], "uneven": "ceil"}]})",
      {{"b", f32(), {5}, false}, {"l.10", f32(), {4, 2}, false}, {"l.2", f32(), {6}, false}});
  const auto view = logical_view(placement);
  REQUIRE(view.size() == 3);
  CHECK(view[0].name == "b");
  CHECK(view[0].rule == "(default)");
  CHECK(view[0].copies == 6);
  CHECK(view[1].name == "l.2");  // as people count
  CHECK(view[1].rule == "l.*, x");
  CHECK(view[2].name == "l.10");
  CHECK(view[2].copies == 2);
  CHECK(view[2].bytes == 32);
  REQUIRE(view[2].stored.size() == 2);
  CHECK(view[2].stored[0].shape == Shape{2, 2});
  CHECK(view[2].stored[0].cards.text() == "0-1, 3-4");
  CHECK(view[2].stored[1].shape == Shape{0, 2});
  CHECK(view[2].stored[1].cards.text() == "2, 5");
}

TEST_CASE("boxes are told card by card, cards that hold the same together") {
  const auto placement = placement_of(
      R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [2, 2], "cards": [7, 6, 5, 4]},
          "parameters": [{"name": "w", "split": ["tp"], "parts": {"dim": 0, "count": 2}},
                         {"name": "v", "split": ["tp"], "uneven": "ceil"}]})",
      {{"v", f32(), {1}, false}, {"w", f32(), {8}, false}});
  const auto boxes = boxes_of(placement, *placement.find("w"));
  REQUIRE(boxes.size() == 2);
  CHECK(boxes[0].positions == std::vector<Position>{0, 2});
  CHECK(boxes[0].boxes == std::vector<Box>{{{0}, {2}}, {{4}, {6}}});
  CHECK(boxes[1].positions == std::vector<Position>{1, 3});
  CHECK(boxes[1].boxes == std::vector<Box>{{{2}, {4}}, {{6}, {8}}});
  const auto empty = boxes_of(placement, *placement.find("v"));
  REQUIRE(empty.size() == 2);
  CHECK(empty[1].boxes.empty());
}
