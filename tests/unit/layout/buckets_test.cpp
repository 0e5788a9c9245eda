#include "catch.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// A mesh of dp cards and these buckets.
Layout with_buckets(const std::string& dp, const std::string& buckets, const std::string& parameters = "") {
  std::string rest = R"("buckets": [)";
  rest.append(buckets).append("]");
  if (!parameters.empty()) rest.append(R"(, "parameters": [)").append(parameters).append("]");
  return layout(R"(["dp"])", "[" + dp + "]", rest);
}

/// Each card's pieces of buckets, by lengths.
std::vector<CardArrays> pieces(const std::string& name, const std::vector<std::uint64_t>& lengths) {
  std::vector<CardArrays> files;
  for (const auto length : lengths) files.push_back(card({array(name, {length})}));
  return files;
}

}  // namespace

TEST_CASE("multiple_of_each: the padding follows the size of the axis") {
  const auto of = [](const std::string& dp, const std::string& keys) {
    return with_buckets(dp,
                        R"({"name": "f", "axis": "dp", )" + keys + R"(, "members": [{"name": "a", "shape": [5]}]})");
  };
  CHECK(rows(target(of("2", R"("multiple_of_each": 2)"), {tensor("a", {5})}), "f") == std::vector<std::int64_t>{4, 4});
  CHECK(rows(target(of("3", R"("multiple_of_each": 2)"), {tensor("a", {5})}), "f") ==
        std::vector<std::int64_t>{2, 2, 2});
  CHECK(rows(target(of("3", R"("multiple_of_each": 2, "multiple_of": 4)"), {tensor("a", {5})}), "f") ==
        std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("last short: the padding is reckoned with, but not stored") {
  const Layout of = with_buckets("4", R"({"name": "f", "axis": "dp", "multiple_of_each": 2, "last": "short",
                                          "members": [{"name": "a", "shape": [5]}, {"name": "b", "shape": [8]}]})");
  const Placement placement = target(of, {tensor("a", {5}), tensor("b", {8})});
  CHECK(shown(placement, "f") == Words{"a0 a1 a2 a3", "a4 b0 b1 b2", "b3 b4 b5 b6", "b7"});
  CHECK(placement.run_of(1, 3).hi == 1);
  const Placement source = resolve_source(of, pieces("f", {4, 4, 4, 1})).placement;
  CHECK(source.tensors()[1].shape == Shape{8});
  CHECK_THROWS_WITH(resolve_source(of, pieces("f", {4, 4, 4, 4})),
                    Contains(R"(is "last": "short" one word too many?)"));
}

TEST_CASE("last short where the padding is longer than the last piece") {
  const Layout of = with_buckets("4", R"({"name": "f", "axis": "dp", "multiple_of_each": 2, "last": "short",
                                          "members": [{"name": "a", "shape": [5]}]})");
  CHECK(shown(target(of, {tensor("a", {5})}), "f") == Words{"0 1", "2 3", "4", ""});
}

TEST_CASE("members with flat: each is cut first, and the pieces are laid end to end (ZeRO-3)") {
  const std::string flat = R"("flat": {"axis": "dp"})";
  const auto of = [&](const std::string& keys) {
    return with_buckets("2", R"({"name": "f", "axis": "dp", )" + keys + R"("members": [{"name": "a", "shape": [3], )" +
                                 flat + R"(}, {"name": "b", "shape": [2, 2], )" + flat +
                                 R"(}, {"name": "c", "shape": [1], )" + flat + "}]}");
  };
  const std::vector<Tensor> tensors{tensor("a", {3}), tensor("b", {2, 2}), tensor("c", {1})};
  const Placement placement = target(of(""), tensors);
  CHECK(shown(placement, "f") == Words{"a0 a1 b0 b1 c0", "a2 _ b2 b3 _"});
  CHECK(shown(target(of(R"("align": 4, "multiple_of": 8, )"), tensors), "f") ==
        Words{"a0 a1 _ _ b0 b1 _ _ c0 _ _ _", "a2 _ _ _ b2 b3 _ _ _ _ _ _"});
  CHECK(placement.run_of(1, 1) == Interval{2, 4});
  std::vector<std::string> found;
  placement.for_each_shard(1, {{0, 1}, {2, 2}}, [&](Position position, const Region& region) {
    found.push_back(std::to_string(position) + " " + to_string(region.box) + " at " + std::to_string(region.offset));
  });
  CHECK(found == Words{"0 [0:1, 1:2] at 3", "1 [1:2, 1:2] at 3"});
}

TEST_CASE("flat on some members only, or beside a short last piece, is refused") {
  const std::string a = R"({"name": "a", "shape": [3], "flat": {"axis": "dp"}})";
  const Layout some =
      with_buckets("2", R"({"name": "f", "axis": "dp", "members": [)" + a + R"(, {"name": "b", "shape": [2]}]})");
  CHECK_THROWS_WITH(target(some, {tensor("a", {3}), tensor("b", {2})}),
                    Contains("parameter 'b'") && Contains("it has no \"flat\", and 'a' of its bucket has"));
  const Layout last = with_buckets("2", R"({"name": "f", "axis": "dp", "last": "short", "members": [)" + a + "]}");
  CHECK_THROWS_WITH(target(last, {tensor("a", {3})}), Contains(R"(it has "flat", and its bucket "last": "short")"));
}

// --- like

TEST_CASE("a member borrows the shape and the keys of the parameter that it is like") {
  const Layout of = layout(R"(["dp", "tp"])", "[2, 2]", R"(
      "parameters": [{"name": "w", "split": [null, "tp"]}],
      "buckets": [{"name": ["m", "v"], "axis": "dp",
                   "members": {"as": "{bucket}.{param}", "like": "{param}", "params": ["w"]}}])");
  const CardArrays same = card({array("m", {2}), array("v", {2}), array("w", {2, 2})});
  const Placement placement = resolve_source(of, cards(4, same)).placement;
  REQUIRE(placement.tensors().size() == 3);
  CHECK(placement.tensors()[0].name == "m.w");
  CHECK(placement.tensors()[0].shape == Shape{2, 4});
  CHECK(shown(placement, "m") == Words{"0 1", "2 3", "4 5", "6 7"});
  CHECK(shown(placement, "v") == Words{"0 1", "2 3", "4 5", "6 7"});
}

TEST_CASE("a member may be like another bucket's, and its own keys override") {
  const Layout of = layout(R"(["dp", "tp"])", "[1, 2]", R"("buckets": [
      {"name": "f", "axis": "dp", "members": [{"name": "w", "shape": [4, 2], "split": ["tp"]}]},
      {"name": "m", "axis": "dp", "members": [{"name": "m.w", "like": "w", "split": []}]},
      {"name": "v", "axis": "dp", "members": [{"name": "v.w", "like": "m.w", "split": [null, "tp"]}]}])");
  const Placement placement =
      resolve_source(of, cards(2, card({array("f", {4}), array("m", {8}), array("v", {4})}))).placement;
  CHECK(shown(placement, "f") == Words{"0 1 2 3", "4 5 6 7"});
  CHECK(shown(placement, "m") == Words{"0 1 2 3 4 5 6 7", "0 1 2 3 4 5 6 7"});
  CHECK(shown(placement, "v") == Words{"0 2 4 6", "1 3 5 7"});
}

TEST_CASE("what a member is like may be left out of the job, or be said by a rule alone") {
  const std::string moments = R"({"name": "m", "axis": "dp", "members": [{"name": "m.w", "like": "w"}]})";
  const Layout of = with_buckets("2", moments, R"({"name": "w"})");
  const CardArrays same = card({array("m", {2}), array("w", {4})});
  const Resolved kept = resolve_source(of, cards(2, same), [](const std::string& name) { return name == "m.w"; });
  CHECK(kept.placement.tensors()[0].shape == Shape{4});
  const Layout said = with_buckets("2", moments, R"({"name": "w", "shape": [4]})");
  CHECK(resolve_source(said, cards(2, card({array("m", {2})}))).placement.tensors()[0].shape == Shape{4});
}

TEST_CASE("a member that is like nothing known is refused") {
  const std::string moments = R"({"name": "m", "axis": "dp", "members": [{"name": "m.w", "like": "w"}]})";
  const CardArrays same = card({array("m", {2})});
  CHECK_THROWS_WITH(resolve_source(with_buckets("2", moments, R"({"name": "w"})"), cards(2, same)),
                    Contains("parameter 'm.w'") && Contains("it is to be like 'w', which no file holds"));
  CHECK_THROWS_WITH(resolve_source(with_buckets("2", moments), cards(2, same)),
                    Contains(R"(bucket "m", member "m.w": it is to be like "w", which no rule matches)"));
  const Layout circle = with_buckets("2", R"({"name": "m", "axis": "dp", "members": [{"name": "a", "like": "b"},
                                                                                     {"name": "b", "like": "a"}]})");
  CHECK_THROWS_WITH(resolve_source(circle, cards(2, same)), Contains(R"(its "like" leads back to "a")"));
}

TEST_CASE("what members borrow and their bucket's axis contradict one another: the layout is wrong by itself") {
  const CardArrays same = card({array("m", {4}), array("w", {2, 4})});
  const auto said = [&](const std::string& rule) {
    const Layout of = layout(R"(["dp", "tp"])", "[2, 2]", R"("parameters": [{"name": "w", )" + rule + R"(}],
        "buckets": [{"name": "m", "axis": "tp", "members": [{"name": "m.w", "like": "w"}]}])");
    return refused([&] { resolve_source(of, cards(4, same)); }, Kind::layout);
  };
  CHECK_THAT(
      said(R"("split": ["tp"])"),
      Contains(
          R"(bucket "m", member "m.w": the bucket is cut over "tp", over which 'w', which it is "like", is split)"));
  CHECK_THAT(said(R"("shape": [4, 4], "flat": {"axis": "dp"})"), Contains(R"("flat" over "dp", from 'w')"));
  CHECK_THAT(said(R"("boxes": {"0": [[0, 2], [0, 4]]})"), Contains(R"('w', which it is "like", has "boxes")"));
}

TEST_CASE("a written layout says the shapes that its members borrow") {
  const Layout of = with_buckets("2", R"({"name": "m", "axis": "dp", "members": [{"name": "m.w", "like": "w"}]})",
                                 R"({"name": "w"})");
  const Placement placement = target(of, {tensor("m.w", {4}), tensor("w", {4})});
  CHECK(*placement.layout().buckets[0].members[0].keys.shape == std::vector<std::uint64_t>{4});
  CHECK(resolve_source(placement.layout(), cards(2, card({array("m", {2})}))).placement.tensors().size() == 1);
}

// --- messages

TEST_CASE("a piece that is too long or short: the bucket's sums are told, and which cards differ") {
  const auto of = [](const std::string& keys) {
    return with_buckets("4", R"({"name": "f", "axis": "dp", "align": 4, "multiple_of": 8, )" + keys + R"("members": [
                                 {"name": "a", "shape": [5]}, {"name": "b", "shape": [3, 2]}]})");
  };
  CHECK_THROWS_WITH(resolve_source(of(""), pieces("f", {4, 4, 3, 4})),
                    Contains("rank_2.h5: /f: stored shape [3], expected [4] by a.json") &&
                        Contains(R"(bucket "f": 2 members of 11 elements together, each at a multiple of 4, up to 14, )"
                                 "padded to 16, a multiple of 8 and a multiple of dp=4, in 4 pieces") &&
                        Contains("cards that differ: 2; pieces of one bucket are equal"));
  CHECK_THROWS_WITH(
      resolve_source(of(""), pieces("f", {4, 4, 4, 2})),
      Contains("cards that differ: 3") && Contains(R"(is the padding left out on the last card ("last": "short")?)"));
  CHECK_THROWS_WITH(resolve_source(of(""), pieces("f", {6, 6, 6, 6})),
                    Contains("so are all cards of the axis; all 4 pieces hold 24, 10 more than the members: \"align\": "
                             "16 would fit; else is the padding another"));
  CHECK_THROWS_WITH(resolve_source(of(""), pieces("f", {2, 2, 2, 2})),
                    Contains("all 4 pieces hold 8, less than the members"));
  CHECK_THROWS_WITH(resolve_source(of(R"("last": "short", )"), pieces("f", {4, 4, 4, 1})),
                    Contains("expected [2]") && Contains("the last without the padding"));
}

TEST_CASE("a rule that lends its keys to a member is not an unused one") {
  const Layout of = with_buckets("2", R"({"name": "m", "axis": "dp", "members": [{"name": "m.w", "like": "w"}]})",
                                 R"({"name": "w", "like": "x"}, {"name": "x", "shape": [4]}, {"name": "y"})");
  const Resolved source = resolve_source(of, cards(2, card({array("m", {2})})));
  REQUIRE(source.warnings.size() == 1);
  CHECK_THAT(source.warnings[0], Contains(R"(rule "y" matches no parameter)"));
  const Resolved written = resolve_target(of, {tensor("m.w", {4})});
  REQUIRE(written.warnings.size() == 1);
  CHECK_THAT(written.warnings[0], Contains(R"(rule "y" matches no parameter)"));
}

TEST_CASE("what a job does not keep of the names in the files is told") {
  const Layout of = with_buckets("1", R"({"name": "m", "axis": "dp", "members": [{"name": "m.w", "shape": [4]}]})",
                                 R"({"name": "*"})");
  const CardArrays all = card({array("m", {4}), array("a", {1}), array("b", {1})});
  CHECK(resolve_source(of, {all}).left_out.empty());
  // A bucket is taken whole: its members are in the placement.
  CHECK(resolve_source(of, {all}, [](const std::string& name) { return name == "a"; }).left_out == Words{"b"});
}
