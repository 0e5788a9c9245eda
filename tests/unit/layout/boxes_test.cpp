#include <random>

#include "catch.hpp"
#include "layout/placement/box_cover.hpp"
#include "unit/layout/refused_layout.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

Layout boxed(const std::string& keys, const std::string& mesh = "[4]") {
  return one_rule(R"(["card"])", mesh, keys);
}

const char* const origin = R"("boxes": {"0": [[0, 2], [0, 3]], "1": [[2, 3], [0, 1]], "3": [[2, 3], [1, 3]]})";

Mesh line(std::uint64_t cards) {
  return Mesh{{"card"}, {cards}, {}};
}

std::string flaw(const Boxes& boxes, const Shape& shape, const Mesh& mesh) {
  try {
    BoxCover(boxes, shape, mesh);
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::layout);
    return error.text().found;
  }
  return "";
}

/// A random dissection of a shape, one box for each card.
void dissect(const Box& box, std::uint64_t cards, std::uint64_t first, std::mt19937& random, Boxes& boxes) {
  if (cards == 1) {
    boxes[first] = box;
    return;
  }
  const std::size_t d = random() % box.rank();
  const std::uint64_t at = box.lo[d] + random() % (box[d].size() + 1);
  Box low = box;
  Box high = box;
  low.hi[d] = high.lo[d] = at;
  const std::uint64_t half = 1 + random() % (cards - 1);
  dissect(low, half, first, random, boxes);
  dissect(high, cards - half, first + half, random, boxes);
}

}  // namespace

TEST_CASE("each card holds the box that is said, and the others nothing") {
  const Placement placement = target(boxed(origin), {tensor("w", {3, 3})});
  CHECK(shown(placement, "w") == Words{"0 1 2 3 4 5", "6", "absent", "7 8"});
  CHECK(placement.stored_shape(0, 3) == Shape{1, 2});
  CHECK(placement.run_of(0, 0) == Interval{0, 6});
  const std::string transposed = std::string(origin) + R"(, "permute": [1, 0])";
  CHECK(shown(target(boxed(transposed), {tensor("w", {3, 3})}), "w") == Words{"0 3 1 4 2 5", "6", "absent", "7 8"});
}

TEST_CASE("a source's shape is what its boxes reach to, and its files are held against them") {
  const std::vector<CardArrays> files{card({array("w", {2, 3})}), card({array("w", {1, 1})}), card({}),
                                      card({array("w", {1, 2})})};
  const Placement placement = resolve_source(boxed(origin), files).placement;
  CHECK(placement.tensors()[0].shape == Shape{3, 3});
  CHECK(shown(placement, "w") == Words{"0 1 2 3 4 5", "6", "absent", "7 8"});
  const auto refusal = [&](std::size_t card_number, const CardArrays& instead) {
    auto changed = files;
    changed[card_number] = instead;
    try {
      resolve_source(boxed(origin), changed);
    } catch (const Error& error) {
      CHECK(error.kind() == Kind::input);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  CHECK_THAT(refusal(2, card({array("w", {1, 1})})), Contains("expected it on the cards 0, 1, 3 only, as a.json says"));
  CHECK_THAT(refusal(3, card({})), Contains("rank_3.h5: /w: parameter 'w' is missing"));
  CHECK_THAT(refusal(0, card({array("w", {3, 2})})), Contains("stored shape [3, 2], expected [2, 3] by a.json"));
}

TEST_CASE("cards that hold the same box are replicas of it, each box with its own number") {
  const Layout of = boxed(R"("boxes": {"9": [[0, 2]], "4": [[0, 2]], "7": [[2, 3]], "5": [[0, 2]], "6": [[3, 3]]})",
                          R"([5], "cards": [9, 4, 7, 5, 6])");
  const Placement placement = target(of, {tensor("w", {3})});
  CHECK(shown(placement, "w") == Words{"0 1", "0 1", "2", "0 1", ""});
  CHECK(placement.replica_bases(0) == std::vector<Position>{0, 1, 3});
  CHECK(placement.first_base(0) == 0);
  CHECK(placement.copies(0) == 3);
  CHECK(placement.holders(0, 2) == std::vector<Position>{2});
  CHECK(placement.holders(0, 1) == std::vector<Position>{0, 1, 3});
  CHECK(placement.base_of(0, 3) == 3);
  CHECK(placement.is_of_first_copy(0, 2));
  std::vector<Position> first;
  placement.for_each_first(0, [&](Position position) { first.push_back(position); });
  CHECK(first == std::vector<Position>{0, 2, 4});
}

TEST_CASE("like borrows boxes, and boxes replace what they borrow") {
  const Layout of = layout(R"(["card"])", "[2]", R"("parameters": [
      {"name": "m.{x}", "like": "{x}"}, {"name": "w", "boxes": {"1": [[0, 4]]}},
      {"name": "v.{x}", "like": "b", "boxes": {"0": [[0, 4]]}}, {"name": "b", "split": ["card"]}])");
  const Placement placement = target(of, {tensor("w", {4}), tensor("m.w", {4}), tensor("b", {4}), tensor("v.b", {4})});
  CHECK(shown(placement, "m.w") == Words{"absent", "0 1 2 3"});
  CHECK(shown(placement, "v.b") == Words{"0 1 2 3", "absent"});
  const Layout both =
      layout(R"(["card"])", "[2]", R"("parameters": [{"name": "m", "like": "w", "flat": {"axis": "card"}},
                             {"name": "w", "boxes": {"1": [[0, 4]]}}])");
  CHECK_THROWS_WITH(target(both, {tensor("m", {4})}), Contains("flat: found \"flat\" beside \"boxes\""));
}

TEST_CASE("boxes in a grid are for any shape that it divides, of a source what its files make of it") {
  const Layout of = boxed(R"("boxes": {"0": [[0, 1], [0, 3]], "1": [[0, 1], [3, 4]], "3": [[1, 2], [0, 4]]},
                             "grid": [2, 4])");
  CHECK(shown(target(of, {tensor("w", {2, 4})}), "w") == Words{"0 1 2", "3", "absent", "4 5 6 7"});
  const Placement larger = target(of, {tensor("v", {4, 4}), tensor("w", {2, 8})});
  CHECK(shown(larger, "v") == Words{"0 1 2 4 5 6", "3 7", "absent", "8 9 10 11 12 13 14 15"});
  CHECK(shown(larger, "w") == Words{"0 1 2 3 4 5", "6 7", "absent", "8 9 10 11 12 13 14 15"});
  CHECK_THROWS_WITH(target(of, {tensor("w", {2, 6})}),
                    Contains("dimension 1 of [2, 6]: 6 elements do not divide by 4"));

  const Layout in_part =
      boxed(R"("boxes": {"0": [[0, 3], [0, 1]], "1": [[3, 4], [0, 1]], "3": [[0, 4], [1, 2]]}, "grid": [null, 2])");
  CHECK(shown(target(in_part, {tensor("w", {4, 2})}), "w") == Words{"0 2 4", "6", "absent", "1 3 5 7"});
  CHECK_THROWS_WITH(target(in_part, {tensor("w", {8, 2})}),
                    Contains("no box holds 8 of the 16 elements") &&
                        Contains("expected boxes that make up [8, 2]; is a card missing"));
  const std::vector<CardArrays> uneven{card({array("w", {3, 5})}), card({array("w", {1, 5})}), card({}),
                                       card({array("w", {4, 5})})};
  CHECK(resolve_source(in_part, uneven).placement.tensors()[0].shape == Shape{4, 10});

  std::vector<CardArrays> files{card({array("w", {3, 6})}), card({array("w", {3, 2})}), card({}),
                                card({array("w", {3, 8})})};
  CHECK(resolve_source(of, files).placement.tensors()[0].shape == Shape{6, 8});
  files[1] = card({array("w", {3, 1})});  // one odd card does not move the whole
  try {
    resolve_source(of, files);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains("rank_1.h5") && Contains("stored shape [3, 1], expected [3, 2] by a.json"));
  }
  const Layout turned = boxed(R"("boxes": {"0": [[0, 1], [0, 1]], "1": [[0, 1], [1, 2]]}, "grid": [1, 2],
                                 "permute": [1, 0])",
                              "[2]");
  const std::vector<CardArrays> stored{card({array("w", {2, 3})}), card({array("w", {2, 3})})};
  CHECK(resolve_source(turned, stored).placement.tensors()[0].shape == Shape{3, 4});
}

TEST_CASE("boxes reach beyond a dimension whose size pad says, and hold zeros there") {
  const Layout of = boxed(R"("boxes": {"0": [[0, 2], [0, 2]], "1": [[2, 4], [0, 2]], "3": [[0, 4], [2, 4]]},
                             "pad": {"0": {"size": 3}, "1": {"size": 3}})");
  const Words expected{"0 1 3 4", "6 7 _ _", "absent", "2 _ 5 _ 8 _ _ _"};
  CHECK(shown(target(of, {tensor("w", {3, 3})}), "w") == expected);
  const CardArrays square = card({array("w", {2, 2})});
  std::vector<CardArrays> files{square, square, card({}), card({array("w", {4, 2})})};
  const Placement source = resolve_source(of, files).placement;
  CHECK(source.tensors()[0].shape == Shape{3, 3});
  CHECK(shown(source, "w") == expected);
  std::uint64_t held = 0;
  source.for_each_shard(0, whole({3, 3}), [&](Position, const Region& region) { held += numel(region.box.shape()); });
  CHECK(held == 9);
  files[1] = card({array("w", {1, 2})});
  CHECK_THROWS_WITH(resolve_source(of, files), Contains("stored shape [1, 2], expected [2, 2] by a.json"));
  const Layout turned = boxed(R"("boxes": {"0": [[0, 2], [0, 2]], "1": [[2, 4], [0, 2]]}, "pad": {"0": {"size": 3}},
                                 "permute": [1, 0])");
  CHECK(shown(target(turned, {tensor("w", {3, 2})}), "w") == Words{"0 2 1 3", "4 _ 5 _", "absent", "absent"});
  const Layout borrowed = layout(R"(["card"])", "[2]", R"("parameters": [
      {"name": "m", "like": "w", "pad": {"0": {"size": 5}}}, {"name": "w", "boxes": {"0": [[0, 4]]}}])");
  CHECK_THROWS_WITH(target(borrowed, {tensor("m", {5})}), Contains("no box holds 1 of the 5 elements"));
  const Layout vast = boxed(R"("boxes": {"0": [[0, 4611686018427387904]]}, "pad": {"0": {"size": 3}})");
  CHECK_THROWS_WITH(target(vast, {tensor("w", {3})}), Contains("stored on one card"));
}

TEST_CASE("boxes that do not fit a target's tensor are refused with the parameter") {
  CHECK_THROWS_WITH(
      target(boxed(origin), {tensor("w", {3, 4})}),
      Contains("parameter 'w'") && Contains("no box holds 3 of the 12 elements of [3, 4], such as [0:1, 3:4]"));
  CHECK_THROWS_WITH(target(boxed(origin), {tensor("w", {9})}),
                    Contains("boxes: found 2 dimensions, expected 1, as the tensor has"));
  const Layout counted = layout(R"(["pp"])", "[2]", R"("indices": [{"in": "{i}", "axis": "pp"}],
                                "parameters": [{"name": "*", "boxes": {"0": [[0, 4]]}}])");
  CHECK_THROWS_WITH(target(counted, {tensor("0", {4}), tensor("1", {4})}),
                    Contains("parameter '1'") &&
                        Contains("boxes give a part to card 0, at pp=0, expected cards at [1] of that axis alone"));
}

TEST_CASE("what is wrong with boxes by themselves") {
  const Boxes halves{{0, Box{{0, 0}, {2, 4}}}, {1, Box{{2, 0}, {4, 4}}}};
  CHECK(flaw(halves, {4, 4}, line(2)).empty());
  CHECK(flaw(halves, {4, 4}, line(1)) == "boxes name card 1, which the mesh has not");
  CHECK(flaw(halves, {5, 4}, line(2)) == "no box holds 4 of the 20 elements of [5, 4], such as [4:5, 0:2]");
  CHECK(flaw(halves, {3, 4}, line(2)) == "the box [2:4, 0:4] of card 1 reaches beyond the shape [3, 4]");
  const Boxes meeting{{0, Box{{0, 0}, {3, 4}}}, {7, Box{{2, 3}, {4, 4}}}, {8, Box{{3, 0}, {4, 3}}}};
  CHECK(flaw(meeting, {4, 4}, line(9)) ==
        "the boxes [0:3, 0:4] of card 0 and [2:4, 3:4] of card 7 overlap without being the same");
}

TEST_CASE("every flaw of many boxes is found, and each query finds what it meets") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const Shape shape{1 + random() % 40, 1 + random() % 40, 1 + random() % 5};
    const std::uint64_t cards = 1 + random() % 60;
    Boxes boxes;
    dissect(whole(shape), cards, 0, random, boxes);
    const BoxCover cover(boxes, shape, line(cards));
    for (int query = 0; query < 20; ++query) {
      Box wanted{Shape(3), Shape(3)};
      for (std::size_t d = 0; d < 3; ++d) {
        wanted.lo[d] = random() % shape[d];
        wanted.hi[d] = wanted.lo[d] + 1 + random() % (shape[d] - wanted.lo[d]);
      }
      std::size_t met = 0;
      cover.for_each_meeting(wanted,
                             [&](std::size_t number) { met += intersect(cover.box(number), wanted) ? 1U : 1000U; });
      CHECK(std::ptrdiff_t(met) == std::count_if(boxes.begin(), boxes.end(), [&](const auto& entry) {
              return intersect(entry.second, wanted).has_value();
            }));
    }
    const auto taken = std::next(boxes.begin(), static_cast<std::ptrdiff_t>(random() % cards));
    if (taken->second.empty() || cards == 1) continue;
    Boxes fewer = boxes;
    fewer.erase(taken->first);
    CHECK_THAT(flaw(fewer, shape, line(cards)), Contains("no box holds"));
    Boxes grown = boxes;
    for (std::size_t d = 0; d < 3; ++d) grown[taken->first].lo[d] = 0;
    if (grown[taken->first] == taken->second) continue;
    CHECK_THAT(flaw(grown, shape, line(cards)), Contains("overlap"));
  }
}

TEST_CASE("boxes of many cards are checked without holding each against each") {
  Boxes boxes;
  for (std::uint64_t card = 0; card < 65536; ++card)
    boxes[card] = Box{{card / 256 * 4, card % 256 * 4}, {card / 256 * 4 + 4, card % 256 * 4 + 4}};
  CHECK(flaw(boxes, {1024, 1024}, line(65536)).empty());
}

TEST_CASE("refused: boxes") {
  check_refused({
      {rule(R"("boxes": {})"), "a.json: /parameters/0/boxes: found {}, expected the box of one card"},
      {rule(R"("boxes": {"x": []})"), R"(a.json: /parameters/0/boxes/x: found the key "x", expected a card's id)"},
      {rule(R"("boxes": {"0": [[0, 4, 5]]})"), "a.json: /parameters/0/boxes/0/0: found [0,4,5], expected [first, end]"},
      {rule(R"("boxes": {"0": [[4, 0]]})"), "a.json: /parameters/0/boxes/0/0: found [4,0]"},
      {rule(R"("boxes": {"0": [[0, 4]], "1": [[0, 4], [0, 1]]})"),
       "a.json: /parameters/0/boxes/1: found a box of 2 dimensions, expected 1, as that of card 0 has"},
      {rule(R"("split": ["tp"], "boxes": {"0": [[0, 4]]})"),
       R"(a.json: /parameters/0/split: found "split" beside "boxes")"},
      {rule(R"("permute": [1, 0], "boxes": {"0": [[0, 4]]})"),
       R"(a.json: /parameters/0/permute: found 2 dimensions, expected 1, as "boxes" have)"},
      {rule(R"("boxes": {"8": [[0, 4]]})"),
       R"(a.json: /parameters/0/boxes: found "boxes" of which boxes name card 8, which the mesh has not)"},
      {rule(R"("boxes": {"0": [[0, 18446744073709551615], [0, 2]]})"), "boxes of 2^64 elements"},
      {rule(R"("boxes": {"0": [[0, 4]]}, "grid": [5])"), "no box holds 1 of the 5 elements of [5], such as [4:5]"},
      {rule(R"("boxes": {"0": [[0, 4]]}, "grid": [4], "shape": [6])"),
       R"(a.json: /parameters/0/shape: found [6], expected extents that "grid" divides: [4])"},
      {rule(R"("boxes": {"0": [[0, 4]]}, "grid": [4, 1])"),
       R"(a.json: /parameters/0/grid: found 2 dimensions, expected 1, as "boxes" have)"},
      {rule(R"("boxes": {"0": [[0, 0]]}, "grid": [0])"),
       "a.json: /parameters/0/grid/0: found 0, expected a whole number from 1 to"},
      {rule(R"("boxes": {"0": [[0, 4], [0, 1]], "1": [[0, 4], [1, 2]]}, "grid": [null, 2], "shape": [8, 6])"),
       "no box holds"},
      {rule(R"("grid": [4])"), R"(a.json: /parameters/0/grid: found "grid" without "boxes")"},
      {rule(R"("boxes": {"0": [[0, 4]]}, "shape": [5])"), "no box holds 1 of the 5 elements of [5], such as [4:5]"},
  });
}
