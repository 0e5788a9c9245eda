#include "inspect/picture.hpp"

#include <map>
#include <regex>
#include <set>

#include "catch.hpp"
#include "fixtures.hpp"
#include "inspect/part_names.hpp"
#include "inspect/picture_scale.hpp"
#include "inspect/svg.hpp"
#include "layout/placement/resolve.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

constexpr const char* mesh_2_by_4 = R"("mesh": {"axes": ["dp", "tp"], "shape": [2, 4]})";

Tensor tensor(const std::string& name, const Shape& shape) {
  return {name, *number_type("f32"), shape, false};
}

Placement place(const std::string& mesh, const std::string& rest, const std::vector<Tensor>& tensors) {
  return resolve_target(parse_layout("{\"ckpt_layout\": 1, " + mesh + ", " + rest + "}", "a.json"), tensors).placement;
}

Placement place_by(const std::string& rules, const std::vector<Tensor>& tensors) {
  return place(mesh_2_by_4, R"("default": "replicate", "parameters": [)" + rules + "]", tensors);
}

std::vector<Panel> all_panels(const Placement& placement, bool whole_buckets = true) {
  std::vector<ParameterId> all;
  for (ParameterId id = 0; id < placement.tensors().size(); ++id) all.push_back(id);
  return panels_of(placement, all, whole_buckets);
}

Panel panel_of(const Placement& placement, const std::string& name) {
  return parameter_panel(placement, *placement.find(name));
}

std::vector<std::string> labels(const Side& side) {
  std::vector<std::string> labels;
  for (const Mark& mark : side.marks) labels.push_back(mark.label);
  return labels;
}

std::vector<std::string> words(const std::vector<Shard>& shards) {
  std::vector<std::string> words;
  for (const Shard& shard : shards)
    words.push_back(shard.label + ": " + shard.cards.text() + (shard.holds.empty() ? "" : " " + shard.holds));
  return words;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a panel has the tensor's dimensions as its sides, and a cell for each piece") {
  const auto placement = place_by(R"({"name": "w", "split": ["dp", "tp"]})", {tensor("w", {6, 8})});
  const Panel panel = panel_of(placement, "w");
  CHECK(panel.title == "w");
  CHECK(panel.notes == Words{"f32 [6, 8], 192 B, 1 copy"});
  CHECK(panel.rules == Words{"w"});
  CHECK(panel.rows.title == "dimension 0: 6 over dp=2");
  CHECK(labels(panel.rows) == Words{"dp=0", "dp=1"});
  CHECK(labels(panel.columns) == Words{"tp=0", "tp=1", "tp=2", "tp=3"});
  REQUIRE(panel.slices.size() == 1);
  REQUIRE(panel.slices[0].cells.size() == 8);
  CHECK(panel.slices[0].cells[6] == Cell{{3, 6}, {4, 6}, 6});
  CHECK(words(panel.shards)[6] == "dp=1 tp=2: 6");
}

TEST_CASE("a panel says which cards hold copies, and that what all hold is replicated") {
  const auto placement = place_by(R"({"name": "w", "split": ["tp"]}, {"name": "x", "at": {"dp": 1}})",
                                  {tensor("b", {}), tensor("w", {4}), tensor("x", {2})});
  CHECK(panel_of(placement, "b").notes.front() == "f32 [], 4 B, replicated on all 8 cards");
  CHECK(panel_of(placement, "b").slices[0].cells == std::vector<Cell>{{{0, 1}, {0, 1}, 0}});
  CHECK(panel_of(placement, "w").notes.front() == "f32 [4], 16 B, 2 copies");
  CHECK(words(panel_of(placement, "w").shards) == Words{"tp=0: 0, 4", "tp=1: 1, 5", "tp=2: 2, 6", "tp=3: 3, 7"});
  CHECK(panel_of(placement, "x").notes.front() == "f32 [2], 8 B, replicated on its 4 cards");
  CHECK(all_panels(placement)[2].notes.back() == "only on dp=1");
}

TEST_CASE("interleaved parts lie where they are in the tensor, and padding beyond it") {
  const auto placement = place_by(R"({"name": "w", "split": ["dp"], "parts": {"dim": 0, "count": 2}},
                                     {"name": "v", "split": ["tp"], "pad": {"0": {"size": 5, "multiple_of": 2}}})",
                                  {tensor("w", {8}), tensor("v", {5})});
  const Panel parts = panel_of(placement, "w");
  CHECK(labels(parts.columns) == Words{"part 0 dp=0", "part 0 dp=1", "part 1 dp=0", "part 1 dp=1"});
  CHECK(parts.notes.back() == "parts of dimension 0: part 0 (0 to 4), part 1 (4 to 8)");
  CHECK(parts.slices[0].cells[1] == Cell{{0, 1}, {4, 6}, 0});
  const Panel padded = panel_of(placement, "v");
  CHECK(padded.columns.title == "dimension 0: 5 over tp=4, and 3 of padding");
  CHECK(padded.slices[0].cells.back() == Cell{{0, 1}, {5, 8}, std::nullopt});
  CHECK(words(padded.shards).back() == "tp=3: 3, 7 padding only");
}

TEST_CASE("of more than two dimensions those that are cut are drawn, a third as slices") {
  const auto placement =
      place(R"("mesh": {"axes": ["a", "b", "c"], "shape": [2, 2, 8]})",
            R"("parameters": [{"name": "three", "split": ["c", "a", null, "b"]}, {"name": "one", "split": [null, "b"]},
                              {"name": "none"}])",
            {tensor("three", {8, 4, 3, 2}), tensor("one", {3, 4, 5}), tensor("none", {3, 4, 5})});
  const Panel three = panel_of(placement, "three");
  CHECK(three.rows.title == "dimension 1: 4 over a=2");
  CHECK(three.columns.title == "dimension 3: 2 over b=2");
  CHECK(three.notes.back() == "not drawn, as every card holds all of it: dimension 2 (3)");
  REQUIRE(three.slices.size() == 6);
  CHECK(three.slices_left_out == 2);
  CHECK(three.slices[5].label == "dimension 0 from 5 to 6 (c=5)");
  CHECK(three.slices[5].cells.size() == 4);
  CHECK(panel_of(placement, "one").rows.title == "dimension 1: 4 over b=2");
  CHECK(panel_of(placement, "one").columns.title == "dimension 2: 5");
  CHECK(panel_of(placement, "none").rows.title == "dimension 0: 3");
}

TEST_CASE("what is flat is drawn as runs of elements, a row for each piece of the split") {
  const auto placement =
      place_by(R"({"name": "w", "split": ["tp"], "flat": {"axis": "dp", "multiple_of": 4}})", {tensor("w", {8, 5})});
  const Panel panel = panel_of(placement, "w");
  CHECK(panel.rows.title == "cut over tp=4");
  CHECK(labels(panel.rows) == Words{"tp=0", "tp=1", "tp=2", "tp=3"});
  CHECK(panel.columns.title == "elements in stored order, in runs over dp=2");
  CHECK(panel.slices[0].cells[1] == Cell{{0, 1}, {8, 10}, 4});
}

TEST_CASE("explicit boxes are drawn with the cards that hold them") {
  const auto placement =
      place_by(R"({"name": "w", "boxes": {"0": [[0, 2]], "3": [[2, 3]], "6": [[2, 3]]}})", {tensor("w", {3})});
  const Panel panel = panel_of(placement, "w");
  CHECK(panel.slices[0].cells == std::vector<Cell>{{{0, 1}, {0, 2}, 0}, {{0, 1}, {2, 3}, 1}});
  CHECK(words(panel.shards)[1] == ": 3, 6");
}

TEST_CASE("a bucket stands for its members, unless they are asked for") {
  const auto placement = place(mesh_2_by_4, R"("buckets": [{"name": "flat", "axis": "dp", "multiple_of": 4,
      "members": [{"name": "a", "shape": [3]}, {"name": "b", "shape": [2]}, {"name": "c", "shape": [1]}]}])",
                               {tensor("a", {3}), tensor("b", {2}), tensor("c", {1})});
  const auto whole = all_panels(placement);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].title == "bucket flat");
  CHECK(words(whole[0].shards) == Words{"dp=0: 0-3 a, b", "dp=1: 4-7 b, c"});
  CHECK(whole[0].slices[0].cells[1] == Cell{{0, 1}, {4, 8}, 1});
  const auto members = all_panels(placement, false);
  REQUIRE(members.size() == 3);
  CHECK(members[1].slices[0].cells == std::vector<Cell>{{{0, 1}, {0, 1}, 0}, {{0, 1}, {1, 2}, 1}});
  CHECK(words(members[0].shards) == Words{"dp=0: 0-3", "dp=1: 4-7 nothing"});
}

TEST_CASE("parameters that differ in a number are drawn once where they are cut alike") {
  const auto placement = place(R"("mesh": {"axes": ["pp", "tp"], "shape": [2, 2]})",
                               R"("indices": [{"in": "l.{i}.*", "axis": "pp", "total": 6}],
               "parameters": [{"name": "l.5.w"}, {"name": "*", "split": ["tp"]}])",
                               {tensor("l.0.w", {4}), tensor("l.1.w", {4}), tensor("l.2.w", {4}), tensor("l.3.w", {4}),
                                tensor("l.4.w", {8}), tensor("l.5.w", {4})});
  const auto panels = all_panels(placement);
  REQUIRE(panels.size() == 3);
  CHECK(panels[0].title == "l.*.w (4 alike)");
  CHECK(panels[0].notes ==
        Words{"f32 [4], 16 B, 1 copy", "l.0.w … l.2.w (3) on pp=0", "l.3.w on pp=1", "drawn with the cards of l.0.w"});
  CHECK(panels[1].title == "l.4.w");
  CHECK(panels[2].title == "l.5.w");
}

TEST_CASE("parts have the names that their tensor's name gives them") {
  CHECK(part_names("layers.0.attn.qkv.weight", 3) == Words{"q", "k", "v"});
  CHECK(part_names("attn.kv_proj.weight", 2) == Words{"k", "v"});
  CHECK(part_names("attn.query_key_value.bias", 3) == Words{"query", "key", "value"});
  CHECK(part_names("mlp.gate_up_proj.weight", 2) == Words{"gate", "up"});
  CHECK(part_names("mlp.w13", 2) == Words{"w1", "w3"});
  CHECK(part_names("attn.qkv.weight", 6).back() == "part 5");
  CHECK(part_names("w", 2) == Words{"part 0", "part 1"});
}

TEST_CASE("parts that no card's piece divides are drawn apart, too") {
  const auto placement = place_by(R"({"name": "kv", "parts": {"dim": 0, "sizes": [6, 2]}})", {tensor("kv", {8})});
  CHECK(labels(panel_of(placement, "kv").columns) == Words{"k", "v"});
}

TEST_CASE("an optimizer's state comes last, and words that are cut alike share a panel") {
  const auto placement = place_by(
      R"({"name": "a.*", "split": ["tp"]}, {"name": "exp_avg.{p}", "like": "{p}"}, {"name": "exp_avg_sq.{p}", "like": "{p}"},
         {"name": "z", "split": ["dp"]})",
      {tensor("a.0", {4}), tensor("exp_avg.a.0", {4}), tensor("exp_avg.z", {4}), tensor("exp_avg_sq.a.0", {4}),
       tensor("exp_avg_sq.z", {4}), tensor("z", {4})});
  const auto panels = all_panels(placement);
  Words titles;
  for (const Panel& panel : panels) titles.push_back(panel.title);
  CHECK(titles == Words{"a.0", "z", "{exp_avg,exp_avg_sq}.a.0 (2 alike)", "{exp_avg,exp_avg_sq}.z (2 alike)"});
  CHECK(panels[2].rules == Words{"exp_avg.{p}", "exp_avg_sq.{p}"});
}

TEST_CASE("what is open is drawn grey, after all else") {
  const auto placement = place_by(R"({"name": "w", "split": ["tp"]})", {tensor("w", {4})});
  const auto panels = panels_of(placement, {0}, true, {{"a.0", "[2] on 0-7"}, {"a.1", "[2] on 0-7"}});
  REQUIRE(panels.size() == 2);
  CHECK(panels[1].title == "a.* (2 alike)");
  CHECK(panels[1].is_open);
  CHECK_THAT(picture_svg({"t", {}}, panels), Contains("the layout has no rule for it; stored are [2] on 0-7"));
}

TEST_CASE("where the numbers of several groups are is said once") {
  const auto placement =
      place(R"("mesh": {"axes": ["pp"], "shape": [2]})",
            R"("indices": [{"in": "l.{i}.*", "axis": "pp", "total": 2}], "default": "replicate")",
            {tensor("l.0.b2", {4}), tensor("l.1.b2", {4}), tensor("l.0.w1", {4}), tensor("l.1.w1", {4})});
  const auto panels = all_panels(placement);
  REQUIRE(panels.size() == 2);
  CHECK(panels[0].notes ==
        Words{"f32 [4], 16 B, 1 copy", "l.0.b2 on pp=0", "l.1.b2 on pp=1", "drawn with the cards of l.0.b2"});
  CHECK(panels[1].notes == Words{"f32 [4], 16 B, 1 copy", "number by number on the cards of l.*.b2, above",
                                 "drawn with the cards of l.0.w1"});
}

TEST_CASE("a scale gives every mark its room, shares the rest, and leaves out the middle") {
  const Scale all({{{0, 1}, ""}, {{1, 4}, ""}}, {10, 60, 2});
  CHECK(all.length() == 60);
  CHECK(all.of_mark(0).to == 20);
  CHECK(all.of({1, 4})->from == 20);
  std::vector<Mark> marks;
  for (std::uint64_t i = 0; i < 100; ++i) marks.push_back({{i, i + 1}, ""});
  const Scale some(marks, {10, 0, 5});
  CHECK(some.left_out() == 95);
  CHECK(some.of_mark(2).to == 30);
  CHECK(some.gap()->from == 30);
  CHECK(some.of_mark(98).from == some.gap()->to);
  CHECK(some.length() == 50 + some.gap()->size());
  CHECK_FALSE(some.of({3, 98}));
  CHECK(some.of({1, 50})->to == some.gap()->from);
  CHECK(some.of({50, 99})->from == some.gap()->to);
}

TEST_CASE("a picture is escaped, the same every time, and of bounded size") {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 1000; ++i) {
    std::string name = "<" + std::string(1, static_cast<char>('a' + i % 26)) + "&\"\x1b\xff";
    tensors.push_back(tensor(name + std::string(static_cast<std::size_t>(i / 26), 'x'), {512, 512}));
  }
  const auto placement = place(R"("mesh": {"axes": ["dp", "tp"], "shape": [16, 32]})",
                               R"("parameters": [{"name": "*", "split": ["tp", "dp"]}])", tensors);
  const auto panels = all_panels(placement);
  const std::string picture = picture_svg({"<title>", {}}, panels);
  CHECK(picture == picture_svg({"<title>", {}}, panels));
  CHECK(picture.size() < 16'000'000);
  CHECK_THAT(picture, Contains("&lt;a&amp;&quot;\\x1b\\xff</text>"));
  CHECK_THAT(picture, Contains("872 more drawings are left out"));
  CHECK(picture.find('\x1b') == std::string::npos);
  CHECK(picture.find("<title><title>") == std::string::npos);
  CHECK(picture_kind().is_begun_by(picture));
  CHECK_FALSE(picture_kind().is_begun_by("<svg xmlns=\"http://www.w3.org/2000/svg\">"));
}

TEST_CASE("neighbours in a picture never look alike") {
  const auto placement = place(R"("mesh": {"axes": ["a", "b"], "shape": [64, 8]})",
                               R"("parameters": [{"name": "*", "split": ["a", "b"]}])", {tensor("w", {64, 8})});
  const std::string picture = picture_svg({"t", {}}, all_panels(placement));
  std::map<int, std::map<int, std::string>> looks;  // by y and x
  const std::regex rect(
      R"re(<rect x="(\d+)" y="(\d+)" width="\d+" height="(\d+)" class="(box|over)" fill="([^"]+)")re");
  for (std::sregex_iterator found(picture.begin(), picture.end(), rect), end; found != end; ++found)
    if (std::stoi((*found)[3]) >= 18) looks[std::stoi((*found)[2])][std::stoi((*found)[1])] += (*found)[5];
  REQUIRE(looks.size() == 64);
  const std::map<int, std::string>* above = nullptr;
  for (const auto& [y, row] : looks) {
    REQUIRE(row.size() == 8);
    std::set<std::string> different;
    for (const auto& [x, look] : row) {
      different.insert(look);
      if (above != nullptr) CHECK(above->at(x) != look);
    }
    CHECK(different.size() == 8);
    above = &row;
  }
}

TEST_CASE("of too many pieces in a row, the first and last are drawn below one another") {
  const auto placement = place(R"("mesh": {"axes": ["a"], "shape": [512]})",
                               R"("parameters": [{"name": "*", "split": ["a"]}])", {tensor("w", {512})});
  const std::string picture = picture_svg({"t", {}}, all_panels(placement));
  CHECK_THAT(picture, Contains("448 rows in the middle are not drawn"));
  CHECK_THAT(picture, Contains(">a=31 · 31:32</text>"));
  CHECK_THAT(picture, !Contains(">a=32 · 32:33</text>"));
  CHECK_THAT(picture, Contains(">a=480 · 480:481</text>"));
  CHECK_THAT(picture, Contains(">card 511</text>"));
}
