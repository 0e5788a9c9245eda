#include "frameworks/cut_rules.hpp"

#include <algorithm>

#include "catch.hpp"
#include "layout/placement/resolve.hpp"
#include "refused.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const Mesh four{{"card"}, {4}, {}};

Box box(const Shape& lo, const Shape& hi) {
  return {lo, hi};
}

CutTensor rows(const std::string& name, const Shape& shape, const std::vector<std::uint64_t>& ends) {
  CutTensor tensor{name, shape, {}};
  std::uint64_t begin = 0;
  for (Position card = 0; card < ends.size(); ++card) {
    Box piece = whole(shape);
    piece.set(0, {begin, ends[card]});
    tensor.held.push_back({card, piece});
    begin = ends[card];
  }
  return tensor;
}

std::string keys_text(const CutTensor& tensor, const Mesh& mesh = four) {
  const std::string text = text_of(keys_of(tensor, mesh), mesh);
  const std::size_t begin = text.find("{\"name\"");
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a tensor is said to be whole, split or in boxes, whichever is simplest") {
  CHECK(keys_text(rows("w", {10, 2}, {3, 6, 9, 10})) == R"({"name": "*", "split": ["card"], "uneven": "ceil"})");
  CHECK(keys_text(rows("w", {6}, {2, 4, 6})) == R"({"name": "*", "split": ["card"], "uneven": "ceil"})");
  CHECK_THAT(keys_text(rows("w", {10}, {3, 5, 8, 10})), Contains(R"("boxes": {"0": [[0, 3]], "1": [[3, 5]])"));
  CHECK(keys_text({"w", {5}, {{2, whole({5})}}}) == R"({"name": "*", "at": {"card": 2}})");
  CHECK(keys_text({"w", {}, {{1, whole({})}, {3, whole({})}}}) == R"({"name": "*", "at": {"card": [1, 3]}})");
  const CutTensor everywhere{"w", {5}, {{0, whole({5})}, {1, whole({5})}, {2, whole({5})}, {3, whole({5})}}};
  CHECK(keys_text(everywhere) == R"({"name": "*"})");
  const CutTensor empty{"w", {0, 3}, {{1, whole({0, 3})}}};
  CHECK(keys_text(empty) == R"({"name": "*", "at": {"card": 1}})");
}

TEST_CASE("pieces are padded to the grid that they allow") {
  const auto padded = [](CutTensor tensor) {
    pad_pieces(tensor);
    return keys_text(tensor);
  };
  CHECK(padded(rows("w", {10, 2}, {3, 6, 9, 10})) == R"({"name": "*", "split": ["card"], "pad": {"0": {"size": 10}}})");
  CHECK(padded(rows("w", {7}, {4, 7})) ==
        R"({"name": "*", "split": ["card"], "pad": {"0": {"size": 7, "multiple_of": 4}}, "at": {"card": [0, 1]}})");
  CHECK(padded(rows("w", {6}, {2, 4, 6})) == keys_text(rows("w", {6}, {2, 4, 6})));
  CHECK(padded(rows("w", {10}, {3, 5, 8, 10})) == keys_text(rows("w", {10}, {3, 5, 8, 10})));
  CHECK(padded(rows("w", {7}, {2, 4, 7})) ==
        R"({"name": "*", "pad": {"0": {"size": 7}}, "boxes": {"0": [[0, 2]], "1": [[2, 4]], "2": [[4, 8]]}})");
  CHECK(padded({"w", {}, {{1, whole({})}}}) == R"({"name": "*", "at": {"card": 1}})");
  CutTensor parts{"w", {7, 4}, {}};  // the cells of a grid would not be runs
  for (const std::uint64_t row : {0, 4})
    for (const std::uint64_t column : {0, 1})
      parts.held.push_back({parts.held.size(), box({row, column}, {row == 0 ? 4U : 7U, column == 0 ? 1U : 4U})});
  pad_pieces(parts);
  CHECK_FALSE(parts.is_padded);
  CHECK_THROWS_WITH(keys_text({"w", {7}, {{0, box({0}, {4})}, {1, box({4}, {8})}}}),
                    Contains("pieces that make up [7]"));
}

TEST_CASE("where a file holds several pieces of a tensor, its others are on the first of its cards") {
  const Mesh slots{{"card", "chunk"}, {2, 3}, {}};
  CutTensor tensor = rows("w", {4}, {2, 4});
  tensor.held[1].card = 3;  // the first of the second file
  CHECK(keys_text(tensor, slots) == R"({"name": "*", "split": ["card"], "uneven": "ceil", "at": {"chunk": 0}})");
  CHECK(keys_text({"w", {4}, {{3, whole({4})}}}, slots) == R"({"name": "*", "at": {"card": 1, "chunk": 0}})");
  CHECK_THAT(keys_text(rows("w", {4}, {2, 4}), slots), Contains("boxes"));
}

TEST_CASE("pieces that overlap or leave something out are refused by the tensor's name") {
  CutTensor hole = rows("layer.w", {10}, {3, 6, 9, 10});
  hole.held.erase(hole.held.begin() + 1);
  CHECK_THAT(refused([&] { keys_of(hole, four); }), Contains("/layer.w") && Contains("pieces that make up [10]"));
  CutTensor overlap = rows("layer.w", {10}, {3, 6, 9, 10});
  overlap.held[2].box.lo[0] = 5;
  CHECK_THAT(refused([&] { keys_of(overlap, four); }), Contains("/layer.w"));
}

TEST_CASE("for other cards a tensor is cut along the first dimension that is cut") {
  const CutTensor grid{"w", {4, 6}, {{0, box({0, 0}, {4, 2})}, {1, box({0, 2}, {4, 6})}}};
  CHECK(text_of(keys_elsewhere(grid), four).find(R"("split": [null, "card"], "uneven": "ceil")") != std::string::npos);
  CHECK(text_of(keys_elsewhere({"w", {5}, {{2, whole({5})}}}), four).find("split") == std::string::npos);
}

TEST_CASE("names that are cut alike are one rule, and patterns match no others") {
  Keys split;
  split.split.emplace(1, std::vector<Axis>{0});
  split.uneven = Uneven::ceil;
  Keys at;
  at.at = At{{0, {1}}};
  std::vector<NamedKeys> names;
  for (int i = 0; i < 12; ++i) {
    names.push_back({"layers." + std::to_string(i) + ".w", split});
    names.push_back({"layers." + std::to_string(i) + ".n", at});
  }
  names.push_back({"odd[1]*.w", split});
  names.push_back({"blocks.1.a.w", split});
  names.push_back({"blocks.2.a.w", split});
  names.push_back({"blocks.1.b.2.a.w", at});  // as "blocks.*.a.w" would be
  const auto rules = rules_of(names, four);
  REQUIRE(rules.size() == 2);
  for (const NamedKeys& each : names)
    for (const Rule& rule : rules) {
      const bool matches = std::any_of(rule.names.begin(), rule.names.end(),
                                       [&](const Pattern& pattern) { return pattern.matches(each.name); });
      CAPTURE(each.name);
      CHECK(matches == (text_of(rule.keys, four) == text_of(each.keys, four)));
    }
  CHECK(std::any_of(rules[0].names.begin(), rules[0].names.end(),
                    [](const Pattern& pattern) { return pattern.text() == "layers.*.w"; }));
}
