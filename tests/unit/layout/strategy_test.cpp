#include "layout/strategies/strategy.hpp"

#include "base/protobuf.hpp"
#include "catch.hpp"
#include "refused.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using protobuf::put_bytes;
using protobuf::put_number;

std::string list(const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (const std::int64_t value : values) put_number(bytes, 1, static_cast<std::uint64_t>(value));
  return bytes;
}

struct Item {
  std::string name;
  std::vector<std::int64_t> devices;
  std::vector<std::vector<std::int64_t>> maps;
  std::int64_t shards = 0;
  std::vector<std::int64_t> sizes = {};
  std::int64_t field_size = 0;
};

std::string strategy_of(const std::vector<Item>& items, std::uint64_t stage = 0, std::uint64_t times_saved = 2) {
  std::string stages;
  put_number(stages, 1, stage);
  std::string node;
  put_bytes(node, 2, stages);
  std::string text;
  put_number(text, 1, times_saved);
  put_bytes(text, 2, node);
  for (const Item& item : items) {
    std::string layout;
    put_bytes(layout, 1, list(item.devices));
    for (const auto& map : item.maps) put_bytes(layout, 2, list(map));
    put_bytes(layout, 3, list(item.sizes));
    put_number(layout, 5, static_cast<std::uint64_t>(item.field_size));
    put_number(layout, 6, item.shards != 0 ? 1 : 0);
    put_number(layout, 7, static_cast<std::uint64_t>(item.shards));
    std::string named;
    put_bytes(named, 1, item.name);
    put_bytes(named, 2, layout);
    put_bytes(text, 3, named);
  }
  return text;
}

Layout layout_of(const std::vector<Item>& items) {
  return strategy_layout(parse_strategy({"s.ckpt", strategy_of(items)}), "s.ckpt");
}

std::string rules_of(const Layout& layout) {
  const std::string text = to_json(layout);
  const std::size_t start = text.find("\"parameters\"");
  return text.substr(start, text.find("\"default\"") - start);
}

std::string refused(const std::string& text) {
  return fixture::refused([&] { strategy_layout(parse_strategy({"s.ckpt", text}), "s.ckpt"); }, Kind::layout);
}

TEST_CASE("Axes count from the right, and an optimizer's cut takes the fastest replicas") {
  const Layout layout = layout_of({{"w", {2, 4}, {{1, 0}}}, {"e", {2, 4}, {{0, -1}}, -1}, {"g", {2, 4}, {{-1}}, 2}});
  CHECK(layout.mesh.shape == std::vector<std::uint64_t>{2, 2, 2});
  CHECK(layout.default_rule == Default::replicate);
  const std::string rules = rules_of(layout);
  CHECK_THAT(rules, Contains(R"({"name": "w", "split": ["a", ["b", "c"]]})"));
  CHECK_THAT(rules, Contains(R"({"name": "e", "split": [["b", "c", "a"]]})"));
  CHECK_THAT(rules, Contains(R"({"name": "g", "split": ["c"]})"));
}

TEST_CASE("Several maps are dimensions of several axes each") {
  const Layout layout = layout_of({{"w", {2, 2, 2}, {{0, 1}, {2}}}, {"b", {2, 2, 2}, {{0, 2}, {}}}});
  CHECK_THAT(rules_of(layout), Contains(R"({"name": "w", "split": [["c", "b"], "a"]})"));
  CHECK_THAT(rules_of(layout), Contains(R"({"name": "b", "split": [["c", "a"]]})"));
}

TEST_CASE("Parameters of different devices share a refined mesh; uneven and field splits are over all of it") {
  const Layout layout = layout_of({{"w", {2, 2, 2}, {{1, 0}}},
                                   {"t", {8}, {{0, -1}}, 0, {1, 2, 3, 4, 2, 4, 5, 3}},
                                   {"f", {8}, {{-1}}, 0, {}, 2},
                                   {"one", {8}, {{-1, -1}}}});
  CHECK(layout.mesh.shape == std::vector<std::uint64_t>{2, 2, 2});
  CHECK_THAT(rules_of(layout), Contains(R"("split": [["a", "b", "c"]], "sizes": {"0": [1, 2, 3, 4, 2, 4, 5, 3]})"));
  CHECK_THAT(rules_of(layout), Contains(R"("split": [["a", "b", "c"]], "parts": {"dim": 0, "count": 2})"));
  CHECK_THAT(rules_of(layout), Contains(R"({"name": "one"})"));
}

TEST_CASE("State is like its parameter unless it is cut otherwise") {
  const Layout same = layout_of({{"w", {4}, {{0}}}, {"moments.w", {4}, {{0}}}});
  CHECK(same.parameters.size() == 2);
  CHECK(same.parameters[0].like.has_value());
  const Layout other =
      layout_of({{"w", {4}, {{-1}}}, {"moments.w", {4}, {{-1}}, -1}, {"v", {4}, {{0}}}, {"moments.v", {4}, {{0}}}});
  CHECK(other.parameters[0].names.front().text() == "moments.w");
  CHECK_FALSE(layout_of({{"w", {4}, {{0}}}}).parameters[0].like.has_value());
}

TEST_CASE("Stages become an axis, from files of their own or merged") {
  const auto first = parse_strategy({"0", strategy_of({{"w", {2}, {{0}}}}, 0)});
  const auto second = parse_strategy({"1", strategy_of({{"v", {2}, {{0}}}}, 1)});
  std::vector<StageStrategy> both{first[0], second[0], first[0]};
  const Layout layout = strategy_layout(both, "s");
  CHECK(layout.mesh.axes == std::vector<std::string>{"pp", "a"});
  CHECK_THAT(rules_of(layout), Contains(R"("split": ["a"], "at": {"pp": 1})"));
  const Layout alone = strategy_layout(second, "s");
  CHECK(alone.mesh.cards == std::vector<std::uint64_t>{2, 3});
  const auto merged = parse_strategy({"m", strategy_of({{"0-w", {2}, {{0}}}}, 0, 1)});
  CHECK(merged[0].parameters.contains("w"));
  CHECK(parse_strategy({"m", strategy_of({{"0-w", {2}, {{0}}}}, 0, 2)})[0].parameters.contains("0-w"));
  CHECK(parse_strategy({"m", strategy_of({{"0-w", {2}, {{0}}}, {"w", {2}, {{0}}}}, 0, 1)})[0].parameters.size() == 2);

  both[1].stage = 2;
  CHECK_THAT(fixture::refused([&] { strategy_layout(both, "s"); }, Kind::layout), Contains("stage 1 is missing"));
  both[1] = parse_strategy({"other", strategy_of({{"w", {2}, {{-1}}}}, 0)})[0];
  CHECK_THAT(fixture::refused([&] { strategy_layout(both, "s"); }, Kind::layout), Contains("cut otherwise"));
}

TEST_CASE("JSON that flattens dimensions is read by the tensor's rank") {
  const auto json = [](const std::string& map, const std::string& shape) {
    return StrategyText{"s.json", R"({"current_stage": 2, "parallel_strategy_item": {}, "parallel_layout_item": {"w":
        {"dev_matrix": [2, 2, 2], "tensor_map": )" +
                                      map + R"(, "tensor_shape": )" + shape +
                                      R"(, "field": 0, "opt_weight_shard_step": 0, "opt_weight_shard_size": 0}}})"};
  };
  const auto rank = [](std::size_t dims) { return [dims](const std::string&) { return std::optional(dims); }; };
  const auto of_two = parse_strategy(json("[0, 1, 2]", "[2, 16, 16]"), rank(2))[0].parameters.at("w");
  CHECK(of_two.split == std::vector<std::vector<std::size_t>>{{2, 1}, {0}});
  CHECK(of_two.shape == Shape{32, 16});
  CHECK(parse_strategy(json("[0, 1, 2]", "[2, 16, 16]"), rank(3))[0].parameters.at("w").shape == Shape{2, 16, 16});
  CHECK(parse_strategy(json("[0, -1]", "[2, 16]"))[0].parameters.at("w").shape == Shape{2, 16});
  const auto said = [&](const StrategyText& text, const RankOf& rank_of) {
    return fixture::refused([&] { parse_strategy(text, rank_of); }, Kind::layout);
  };
  CHECK_THAT(said(json("[0, 1, 2]", "[2, 16, 16]"), {}), Contains("protobuf"));
  CHECK_THAT(said(json("[0, 1, 2]", "[2, 2, 16]"), rank(2)), Contains("several splits"));
  CHECK_THAT(said(json("[0, 1, 2]", "[2, 16, 16]"), rank(1)), Contains("1 dimensions"));
}

const Rule& boxed_rule(const Layout& layout) {
  const auto boxed = std::find_if(layout.parameters.begin(), layout.parameters.end(),
                                  [](const Rule& rule) { return rule.keys.boxes.get() != nullptr; });
  REQUIRE(boxed != layout.parameters.end());
  return *boxed;
}

TEST_CASE("Devices without a common refinement are told by boxes in a grid, which need no shape") {
  const Layout layout = layout_of({{"u", {2, 3}, {{1, -1}}},
                                   {"u2", {2, 3}, {{1, -1}}},
                                   {"u3", {2, 3}, {{1, -1}}},
                                   {"u4", {2, 3}, {{1, -1}}},
                                   {"v", {3, 2}, {{1, 0}}},
                                   {"v2", {3, 2}, {{1, 0}}, 0},
                                   {"moments.v", {3, 2}, {{1, 0}}},
                                   {"w", {3, 2}, {{-1, 1}}, -1}});
  CHECK(layout.mesh.size() == 6);
  const auto rules = rules_of(layout);
  CHECK_THAT(rules, Contains(R"("name": ["u", "u2", "u3", "u4"], "split": ["a"])"));
  CHECK_THAT(rules, Contains(R"("name": "moments.{param}")") || Contains(R"("moments.{param}", "adam_m.{param}")"));
  CHECK_THAT(rules, Contains(R"({"name": ["v", "v2"], "boxes": {"0": [[0, 1], [0, 1]], "1": [[0, 1], [1, 2]], )"
                             R"("2": [[1, 2], [0, 1]], "3": [[1, 2], [1, 2]], "4": [[2, 3], [0, 1]], )"
                             R"("5": [[2, 3], [1, 2]]}, "grid": [3, 2]})"));
  // The optimizer's cut of dimension 0, over the replicas along the last axis.
  CHECK_THAT(rules, Contains(R"("5": [[1, 2], [2, 3]]}, "grid": [2, 3]})"));

  auto stages = parse_strategy({"s", strategy_of({{"u", {2, 3}, {{1, -1}}}, {"v", {3, 2}, {{1, -1}}}})});
  for (auto& [name, parameter] : stages[0].parameters) parameter.shape = Shape{6, 2};
  CHECK(boxed_rule(strategy_layout(stages, "s")).keys.shape == std::vector<std::uint64_t>{6, 2});
  for (auto& [name, parameter] : stages[0].parameters) parameter.shape = Shape{7, 2};
  CHECK_THAT(fixture::refused([&] { strategy_layout(stages, "s"); }, Kind::layout), Contains("[7, 2]"));
}

TEST_CASE("Uneven pieces keep a mesh that others have not; on a second such mesh they are boxes of elements") {
  const Item table{"t", {3, 2}, {{1, -1}}, 0, {1, 2, 4}};
  const Layout layout = layout_of({table, {"u", {2, 3}, {{1}}}, {"v", {2, 3}, {{1}}}});
  CHECK_THAT(rules_of(layout), Contains(R"("name": "t", "split": ["a"], "sizes": {"0": [1, 2, 4]})"));
  CHECK(boxed_rule(layout).names.front().text() == "u");
  const Layout two = layout_of({table, {"u", {2, 3}, {{1, 0}}, 0, {4, 5}}});
  CHECK_THAT(rules_of(two), Contains(R"("name": "t", "split": ["a"], "sizes": {"0": [1, 2, 4]})"));
  CHECK_THAT(rules_of(two), Contains(R"("name": "u", "boxes": {"0": [[0, 4], [0, 1]], "1": [[0, 4], [1, 2]], )"
                                     R"("2": [[0, 4], [2, 3]], "3": [[4, 9], [0, 1]], "4": [[4, 9], [1, 2]], )"
                                     R"("5": [[4, 9], [2, 3]]}, "grid": [null, 3]})"));
  CHECK_THAT(refused(strategy_of({{"t", {3, 2}, {{1, -1}}, 2, {2, 2, 4}}})), Contains("over replicas"));
}

TEST_CASE("Strategies that lie are refused, and what is wrong is said") {
  CHECK_THAT(refused("\x0a\x02xx"), Contains("a checkpoint"));
  CHECK_THAT(refused("{}"), Contains("no strategy"));
  CHECK_THAT(refused(strategy_of({})), Contains("no layout of any parameter"));
  CHECK_THAT(refused(strategy_of({{"w", {2, 2}, {{2}}}})), Contains("'w'") && Contains("tensor_map"));
  CHECK_THAT(refused(strategy_of({{"w", {2, 2}, {{-2}}}})), Contains("-2"));
  CHECK_THAT(refused(strategy_of({{"w", {2, 2}, {{0, 0}}}})), Contains("twice"));
  CHECK_THAT(refused(strategy_of({{"w", {2, 0}, {{0}}}})), Contains("above 0"));
  CHECK_THAT(refused(strategy_of({{"w", {1 << 11, 1 << 11}, {{0}}}})), Contains("1048576"));
  CHECK_THAT(refused(strategy_of({{"w", {2}, {{0}}, 0, {1, 2, 3}}})), Contains("3 sizes"));
  CHECK_THAT(refused(strategy_of({{"w", {2}, {{0}}, -3}})), Contains("opt_weight_shard_size"));
  CHECK_THAT(refused(strategy_of({{"w", {2}, {{0}}}, {"w", {2}, {{0}}}})), Contains("two layouts"));
  CHECK_THAT(refused(strategy_of({{"w", {2}, {{0}}}, {"v", {4}, {{0}}}})), Contains("as many for all"));
  CHECK_THAT(refused(strategy_of({{"w", {2}, {{0}}}}).substr(0, 20)), Contains("damaged"));
}

}  // namespace
