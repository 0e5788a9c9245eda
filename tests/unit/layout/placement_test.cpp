#include "layout/placement/placement.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

Layout tutorial() {
  return one_rule(R"(["x", "y"])", "[2, 2]", R"("split": ["x", "y"])");
}

}  // namespace

TEST_CASE("the tutorial's four cards, and two") {
  CHECK(shown(target(tutorial(), {tensor("w", {2, 4})}), "w") == Words{"0 1", "2 3", "4 5", "6 7"});
  const Layout two = one_rule(R"(["x"])", "[2]", R"("split": ["x", null])");
  CHECK(shown(target(two, {tensor("w", {2, 4})}), "w") == Words{"0 1 2 3", "4 5 6 7"});
}

TEST_CASE("two axes on one dimension, the minor mesh axis first") {
  const Layout of = one_rule(R"(["dp", "tp"])", "[2, 2]", R"("split": [["tp", "dp"]])");
  CHECK(shown(target(of, {tensor("w", {8})}), "w") == Words{"0 1", "4 5", "2 3", "6 7"});
}

TEST_CASE("4096 rows cut by tp 8 and then dp 30 by ceil: 18 rows each, then 8, then none") {
  const Layout of = one_rule(R"(["tp", "dp"])", "[8, 30]", R"("split": [["tp", "dp"]], "uneven": "ceil")");
  const Placement placement = target(of, {tensor("w", {4096, 2})});
  const auto found = rows(placement, "w");
  for (std::size_t card = 0; card < found.size(); ++card) {
    CAPTURE(card);
    CHECK(found[card] == (card % 30 < 28 ? 18 : card % 30 == 28 ? 8 : 0));
  }
}

TEST_CASE("3584 over 24 stays 3584") {
  for (const char* uneven : {"ceil", "balanced"}) {
    const Layout of = one_rule(R"(["tp"])", "[24]", std::string(R"("split": ["tp"], "uneven": ")") + uneven + '"');
    const auto found = rows(target(of, {tensor("w", {3584})}), "w");
    std::int64_t total = 0;
    for (const auto each : found) total += each;
    CHECK(total == 3584);
    std::vector<CardArrays> files;
    for (const auto each : found) files.push_back(card({array("w", {static_cast<std::uint64_t>(each)})}));
    CHECK(resolve_source(of, files).placement.tensors()[0].shape == Shape{3584});  // never 3600
  }
}

TEST_CASE("a padded vocabulary: 50257 to a multiple of 128 over 8") {
  const Layout of =
      one_rule(R"(["tp"])", "[8]", R"("split": ["tp"], "pad": {"0": {"size": 50257, "multiple_of": 128}})");
  const Placement placement = target(of, {tensor("embedding", {50257})});
  CHECK(rows(placement, "embedding") == std::vector<std::int64_t>(8, 6400));
  const auto last = places(placement, 0, 7);
  CHECK(last[50256 - 44800]->index == 50256);
  CHECK_FALSE(last[50257 - 44800].has_value());
  const Resolved source = resolve_source(of, cards(8, card({array("embedding", {6400})})));
  CHECK(source.placement.tensors()[0].shape == Shape{50257});
}

TEST_CASE("parts of a fused dimension") {
  const Layout of = one_rule(R"(["tp"])", "[2]", R"("split": ["tp"], "parts": {"dim": 0, "count": 2})");
  CHECK(shown(target(of, {tensor("w", {8})}), "w") == Words{"0 1 4 5", "2 3 6 7"});
  const Layout second =
      one_rule(R"(["tp"])", "[2]", R"("split": [null, "tp"], "parts": {"dim": 1, "sizes": [2, 0, 4]})");
  CHECK(shown(target(second, {tensor("w", {2, 6})}), "w") == Words{"0 2 3 6 8 9", "1 4 5 7 10 11"});
}

TEST_CASE("padding repeats the edge, or is zero") {
  const Layout edge =
      one_rule(R"(["tp"])", "[2]", R"("split": ["tp"], "pad": {"0": {"size": 3, "multiple_of": 2, "fill": "edge"}})");
  CHECK(shown(target(edge, {tensor("w", {3})}), "w") == Words{"0 1", "2 2+"});
  const Layout both =
      one_rule(R"(["tp"])", "[1]",
               R"("pad": {"0": {"size": 1, "multiple_of": 2, "fill": "edge"}, "1": {"size": 2, "multiple_of": 3}})");
  CHECK(shown(target(both, {tensor("w", {1, 2})}), "w") == Words{"0 1 _ 0+ 1+ _"});
}

TEST_CASE("a flat: cut, zero-padded at the end") {
  const Layout of = one_rule(R"(["dp"])", "[4]", R"("flat": {"axis": "dp"})");
  CHECK(shown(target(of, {tensor("w", {2, 3})}), "w") == Words{"0 1", "2 3", "4 5", "_ _"});
  const Layout multiple = one_rule(R"(["dp"])", "[2]", R"("flat": {"axis": "dp", "multiple_of": 4})");
  CHECK(shown(target(multiple, {tensor("w", {3, 3})}), "w") == Words{"0 1 2 3 4 5 6 7", "8 _ _ _ _ _ _ _"});
}

TEST_CASE("a flat of what split and permute leave") {
  const Layout of =
      one_rule(R"(["tp", "dp"])", "[2, 2]", R"("split": [null, "tp"], "permute": [1, 0], "flat": {"axis": "dp"})");
  // tp 0 keeps columns 0 and 1 of [3, 4], stored as [2, 3]: 0 4 8 1 5 9.
  CHECK(shown(target(of, {tensor("w", {3, 4})}), "w") == Words{"0 4 8", "1 5 9", "2 6 10", "3 7 11"});
}

TEST_CASE("permute reorders what is stored") {
  const Layout of = one_rule(R"(["tp"])", "[2]", R"("split": ["tp"], "permute": [2, 0, 1])");
  const Placement placement = target(of, {tensor("w", {2, 3, 2})});
  CHECK(placement.stored_shape(0, 0) == Shape{2, 1, 3});
  CHECK(shown(placement, "w") == Words{"0 2 4 1 3 5", "6 8 10 7 9 11"});
}

TEST_CASE("at, indices and rename: who holds what under which name") {
  const Layout of = layout(
      R"(["pp", "tp"])", "[2, 2]",
      R"("parameters": [{"name": "embedding", "at": {"pp": 0}, "split": ["tp"]}, {"name": "head", "at": {"pp": [1], "tp": 1}},
                              {"name": "layers.*"}],
                              "indices": [{"in": "layers.{i}.*", "axis": "pp", "total": 4, "numbering": "local"}],
                              "rename": [{"stored": "module.{x}", "name": "{x}"}])");
  const Placement placement =
      target(of, {tensor("embedding", {4}), tensor("head", {1}), tensor("layers.0.w", {2}), tensor("layers.1.w", {2}),
                  tensor("layers.2.w", {2}), tensor("layers.3.b", {2})});
  CHECK(shown(placement, "module.embedding") == Words{"0 1", "2 3", "absent", "absent"});
  CHECK(shown(placement, "module.head") == Words{"absent", "absent", "absent", "0"});
  CHECK(shown(placement, "module.layers.0.w") == Words{"0 1", "0 1", "0 1", "0 1"});
  CHECK(shown(placement, "module.layers.1.b") == Words{"absent", "absent", "0 1", "0 1"});
}

TEST_CASE("the specification's buckets: w2 at 0, b1 at 128, w1 at 192, 128 on each of 3 cards") {
  const Layout of =
      layout(R"(["dp"])", "[3]",
             R"("buckets": [{"name": "fp32_flat.0", "axis": "dp", "align": 64, "multiple_of": 128, "members": [
                              {"name": "w2", "shape": [70]}, {"name": "b1", "shape": [10]}, {"name": "w1", "shape": [100]}]}])");
  const Placement placement = target(of, {tensor("w2", {70}), tensor("b1", {10}), tensor("w1", {100})});
  CHECK(rows(placement, "fp32_flat.0") == std::vector<std::int64_t>{128, 128, 128});
  const auto is_at = [&](std::uint64_t element, const char* name, std::uint64_t index) {
    const auto place = places(placement, 0, element / 128)[element % 128];
    return place && place->tensor == name && place->index == index;
  };
  CHECK(is_at(0, "w2", 0));
  CHECK(is_at(69, "w2", 69));
  CHECK_FALSE(places(placement, 0, 0)[70].has_value());
  CHECK(is_at(128, "b1", 0));
  CHECK(is_at(192, "w1", 0));
  CHECK(is_at(291, "w1", 99));
  CHECK_FALSE(places(placement, 0, 2)[292 - 256].has_value());
}

TEST_CASE("buckets a5 b7 c2 on 4 cards, and on 3") {
  const auto of = [](const char* cards) {
    return layout(R"(["dp"])", cards, R"("buckets": [{"name": "flat", "axis": "dp", "members": [
                  {"name": "a", "shape": [5]}, {"name": "b", "shape": [7]}, {"name": "c", "shape": [2]}]}])");
  };
  const std::vector<Tensor> tensors{tensor("a", {5}), tensor("b", {7}), tensor("c", {2})};
  CHECK(shown(target(of("[4]"), tensors), "flat") == Words{"a0 a1 a2 a3", "a4 b0 b1 b2", "b3 b4 b5 b6", "c0 c1 _ _"});
  CHECK(shown(target(of("[3]"), tensors), "flat") == Words{"a0 a1 a2 a3 a4", "b0 b1 b2 b3 b4", "b5 b6 c0 c1 _"});
}

TEST_CASE("a bucket for each tp rank, with members split, padded and permuted") {
  const Layout of = layout(R"(["tp", "dp"])", "[2, 2]",
                           R"("buckets": [{"name": "flat", "axis": "dp", "multiple_of": 3, "members": [
                              {"name": "a", "shape": [3, 2], "split": ["tp"], "uneven": "ceil", "permute": [1, 0]},
                              {"name": "b", "shape": [1], "pad": {"0": {"size": 1, "multiple_of": 2, "fill": "edge"}}}]}])");
  const Placement placement = target(of, {tensor("a", {3, 2}), tensor("b", {1})});
  // tp 0 has rows 0 and 1 of a, transposed; tp 1 has row 2.
  CHECK(shown(placement, "flat") == Words{"a0 a2 a1", "a3 b0 b0+", "a4 a5 b0", "b0+ _ _"});
}

TEST_CASE("buckets of one name on different stages") {
  const Layout of =
      layout(R"(["pp", "dp"])", "[2, 2]",
             R"("buckets": [{"name": "flat", "axis": "dp", "at": {"pp": 0}, "members": [{"name": "a", "shape": [4]}]},
                                          {"name": "flat", "axis": "dp", "at": {"pp": 1}, "members": [{"name": "b", "shape": [6]}]}])");
  CHECK(shown(target(of, {tensor("a", {4}), tensor("b", {6})}), "flat") == Words{"0 1", "2 3", "0 1 2", "3 4 5"});
  // The files of a stage may look like those of another: what an array is depends on where it lies.
  const CardArrays same = card({array("flat", {2})});
  const Layout stages =
      layout(R"(["pp", "dp"])", "[2, 2]",
             R"("buckets": [{"name": "flat", "axis": "dp", "at": {"pp": 0}, "members": [{"name": "a", "shape": [4]}]},
                                              {"name": "flat", "axis": "dp", "at": {"pp": 1}, "members": [{"name": "b", "shape": [2, 2]}]}])");
  const Placement source = resolve_source(stages, cards(4, same)).placement;
  CHECK(shown(source, "flat") == Words{"0 1", "2 3", "0 1", "2 3"});
  CHECK(source.tensors()[1].shape == Shape{2, 2});
}

TEST_CASE("shards of a box are found where it is") {
  const Placement placement = target(tutorial(), {tensor("w", {2, 4})});
  std::vector<std::string> found;
  placement.for_each_shard(0, {{0, 1}, {2, 3}}, [&](Position card, const Region& region) {
    found.push_back(std::to_string(card) + " " + to_string(region.box) + " at " + std::to_string(region.offset));
  });
  CHECK(found == Words{"0 [0:1, 1:2] at 1", "1 [0:1, 2:3] at 0", "2 [1:2, 1:2] at 1", "3 [1:2, 2:3] at 0"});
}

TEST_CASE("a run of an array gives the regions in it, cut to it") {
  const Placement placement = target(one_rule(R"(["x"])", "[1]", ""), {tensor("w", {4, 5})});
  std::vector<std::string> found;
  placement.for_each_region(0, 0, {3, 12}, [&](ParameterId, const Region& region) {
    found.push_back(to_string(region.box) + " at " + std::to_string(region.offset));
  });
  CHECK(found == Words{"[0:1, 3:5] at 3", "[1:2, 0:5] at 5", "[2:3, 0:2] at 10"});
}

TEST_CASE("replicas: their bases, and who holds the same") {
  const Layout of = one_rule(R"(["dp", "tp", "pp"])", "[2, 2, 2]", R"("split": ["tp"], "at": {"pp": 1})");
  const Placement placement = target(of, {tensor("w", {4})});
  CHECK(placement.replica_bases(0) == std::vector<Position>{1, 5});
  CHECK(placement.first_base(0) == 1);
  CHECK(placement.copies(0) == 2);
  CHECK(placement.holders(0, 3) == std::vector<Position>{3, 7});
  CHECK(placement.base_of(0, 3) == 1);
  CHECK(placement.base_of(0, 7) == 5);
  std::vector<Position> first;
  placement.for_each_first(0, [&](Position position) { first.push_back(position); });
  CHECK(first == std::vector<Position>{1, 3});
}

TEST_CASE("in a bucket, a replica that lies elsewhere is not taken for the same") {
  const Layout of = layout(R"(["tp", "dp"])", "[2, 1]",
                           R"("buckets": [{"name": "flat", "axis": "dp", "members": [
                              {"name": "a", "shape": [3], "split": ["tp"], "uneven": "ceil"}, {"name": "b", "shape": [2]}]}])");
  const Placement placement = target(of, {tensor("a", {3}), tensor("b", {2})});
  CHECK(shown(placement, "flat") == Words{"a0 a1 b0 b1", "a2 b0 b1"});
  CHECK(placement.replica_bases(1) == std::vector<Position>{0, 1});
  CHECK(placement.copies(0) == 1);
  CHECK(placement.copies(1) == 2);
  CHECK(placement.holders(1, 0) == std::vector<Position>{0});
}

TEST_CASE("parameters are found by name, in order of names") {
  const Placement placement =
      target(one_rule(R"(["x"])", "[1]", ""), {tensor("b", {1}), tensor("a", {2}), tensor("c", {3})});
  CHECK(placement.find("b") == ParameterId{1});
  CHECK_FALSE(placement.find("bb").has_value());
  CHECK(placement.tensors()[0].bytes() == 8);
}

TEST_CASE("a list of cards names their ids") {
  const Layout of =
      parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [3], "cards": [40, 7, 9]}})", "a.json");
  CHECK(list_cards(of.mesh, {0, 2}) == "40, 9");
}
