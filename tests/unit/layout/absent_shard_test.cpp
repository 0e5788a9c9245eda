#include "catch.hpp"
#include "layout/placement/resolve.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::string refusal(const Layout& layout, const std::vector<CardArrays>& files) {
  return refused([&] { resolve_source(layout, files); });
}

}  // namespace

TEST_CASE("an absent dataset is an empty shard where the layout gives an empty one") {
  const CardArrays two = card({array("w", {2, 3})});
  const CardArrays none = card({});
  const Layout given = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"], "uneven": "ceil", "shape": [6, 3])");
  CHECK(resolve_source(given, {two, two, two, none}).placement.tensors()[0].shape == Shape{6, 3});
  const Layout sizes = one_rule(R"(["tp"])", "[2]", R"("split": ["tp"], "sizes": {"0": [0, 2]})");
  CHECK(resolve_source(sizes, {none, two}).placement.tensors()[0].shape == Shape{2, 3});
}

TEST_CASE("an absent dataset is refused where only the shapes of the others could tell that it is empty") {
  const CardArrays two = card({array("w", {2, 3})});
  const CardArrays one = card({array("w", {1, 3})});
  const CardArrays none = card({});
  const Layout ceil = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"], "uneven": "ceil")");
  CHECK_THAT(refusal(ceil, {two, two, two, none}),
             Contains("rank_3.h5: /w: parameter 'w'") &&
                 Contains("the dataset is absent: its shard may be empty, or lost") && Contains("[2, 2, 2, 0]") &&
                 Contains("\"shape\""));
  CHECK_THAT(refusal(ceil, {two, two, one, none}), Contains("may be empty, or lost"));
  const CardArrays empty = card({array("w", {0, 3})});
  CHECK(resolve_source(ceil, {two, two, one, empty}).placement.tensors()[0].shape == Shape{5, 3});
  CHECK_THAT(
      refusal(one_rule(R"(["tp"])", "[4]", R"("split": ["tp"])"), {card({array("wq", {0, 3})}), none, none, none}),
      Contains("rank_1.h5: /wq") && Contains("may be empty, or lost"));
  const Layout replicated = one_rule(R"(["dp", "tp"])", "[2, 2]", R"("split": ["tp"], "uneven": "ceil")");
  CHECK(resolve_source(replicated, {one, empty, one, none}).placement.tensors()[0].shape == Shape{1, 3});
  const Layout stage = one_rule(R"(["pp", "tp"])", "[2, 2]", R"("split": ["tp"], "uneven": "ceil", "at": {"pp": 1})");
  CHECK_THAT(refusal(stage, {none, none, one, none}), Contains("rank_3.h5: /w"));
  const Layout given = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"], "uneven": "ceil", "shape": [8, 3])");
  CHECK_THAT(refusal(given, {two, two, two, none}), Contains("rank_3.h5: /w: parameter 'w' is missing"));
}

TEST_CASE("an absent dataset is an empty shard where the shape that is expected leaves it nothing") {
  const CardArrays two = card({array("w", {2, 3})});
  const CardArrays none = card({});
  const Layout ceil = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"], "uneven": "ceil")");
  const auto resolved_for = [&](const Shape& shape) {
    return resolve_source(ceil, {two, two, two, none}, {}, [&](const std::string& name) {
      return name == "w" ? std::optional<Shape>(shape) : std::nullopt;
    });
  };
  CHECK(resolved_for({6, 3}).placement.tensors()[0].shape == Shape{6, 3});
  for (const Shape& other : {Shape{8, 3}, Shape{}})
    CHECK_THAT(refused([&] { resolved_for(other); }), Contains("may be empty, or lost"));
}

TEST_CASE("a tensor without dimensions is whole on every card, whatever rule it matches") {
  const Layout of = layout(R"(["tp", "dp"])", "[2, 2]",
                           R"("parameters": [{"name": "flat*", "flat": {"axis": "dp"}},
                                             {"name": "*", "split": ["tp", "dp"], "uneven": "ceil", "permute": [1, 0]}])");
  StoredArray note = array("note", {}, text_type());
  note.verbatim = true;
  const Placement source =
      resolve_source(of, cards(4, card({array("flat_step", {}), array("step", {}), note}))).placement;
  CHECK(shown(source, "step") == Words{"0", "0", "0", "0"});
  CHECK(shown(source, "flat_step") == Words{"0", "0", "0", "0"});
  CHECK(source.replica_bases(*source.find("step")).size() == 4);
  CHECK(shown(target(of, source.tensors()), "flat_step") == Words{"0", "0", "0", "0"});
}

TEST_CASE("a rule that gives the shape [] may lay a scalar flat over cards") {
  const Layout of = one_rule(R"(["dp"])", "[2]", R"("flat": {"axis": "dp"}, "shape": [])");
  CHECK(shown(resolve_source(of, cards(2, card({array("w", {1})}))).placement, "w") == Words{"0", "_"});
  CHECK(shown(target(of, {tensor("w", {})}), "w") == Words{"0", "_"});
}
