#include "layout/placement/shape_check.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::string refusal_of(const Layout& of, const std::vector<CardArrays>& files) {
  return refused([&] { resolve_source(of, files); });
}

Layout rules(const std::string& list, const std::string& cards = "4") {
  return layout(R"(["tp"])", "[" + cards + "]", R"("parameters": [)" + list + "]");
}

const Layout moments_of_their_own = rules(R"({"name": "m.{x}", "like": "{x}", "split": [null, "tp"]},
                                             {"name": "*", "split": ["tp"]})");

}  // namespace

TEST_CASE("a row-parallel weight whose rule cuts rows is found by its moment") {
  CHECK(
      refusal_of(moments_of_their_own, cards(4, card({array("w", {64, 16}), array("m.w", {64, 16})}))) ==
      "parameter 'm.w' (a.json, rule \"m.{x}\"): its logical shape is [64, 64], expected [256, 16] as 'w' has, which "
      "it is to "
      "be \"like\"; one of the two rules is wrong; a parameter that is to have another shape says \"shape\", or has a "
      "rule of its own");
  const Layout fits = rules(R"({"name": "m.{x}", "like": "{x}"}, {"name": "*", "split": ["tp"]})");
  CHECK(refusal_of(fits, cards(4, card({array("w", {64, 16}), array("m.w", {64, 16})}))) == "");
  CHECK_THAT(refusal_of(fits, cards(4, card({array("w", {64, 16}), array("m.w", {64, 1})}))),
             Contains("its logical shape is [256, 1], expected [256, 16] as 'w' has"));
}

TEST_CASE("the nearest name that exists is the one that counts") {
  const Layout chain = rules(R"({"name": "v.{x}", "like": "m.{x}"}, {"name": "m.{x}", "like": "{x}"}, {"name": "*"})");
  CHECK_THAT(refusal_of(chain, cards(4, card({array("w", {2}), array("v.w", {3})}))), Contains("[2] as 'w' has"));
  CHECK_THAT(refusal_of(chain, cards(4, card({array("w", {2}), array("m.w", {2}), array("v.w", {3})}))),
             Contains("[2] as 'm.w' has"));
  CHECK(refusal_of(chain, cards(4, card({array("v.w", {3})}))) == "");
}

TEST_CASE("a shape that a rule gives may be another, and so may no shape at all") {
  const Layout factored = rules(R"({"name": "m.{x}", "like": "{x}", "shape": [64]}, {"name": "*"})");
  const Resolved resolved = resolve_source(factored, cards(4, card({array("w", {64, 16}), array("m.w", {64})})));
  CHECK(resolved.warnings.empty());
  const Layout given = rules(R"({"name": "m.{x}", "like": "w"}, {"name": "w", "shape": [64, 16]})");
  CHECK_THAT(refusal_of(given, cards(4, card({array("w", {64, 16}), array("m.w", {64})}))), Contains("stored shape"));
  const Layout step = rules(R"({"name": "state.{x}", "like": "{x}"}, {"name": "*", "split": ["tp"]})");
  CHECK(refusal_of(step, cards(4, card({array("w", {64}), array("state.w", {})}))) == "");
}

TEST_CASE("a flat moment's shape is there because its pieces do not tell it: another one is a warning") {
  const Layout flat = rules(R"({"name": "m.{x}", "like": "{x}", "split": [], "flat": {"axis": "tp"}, "shape": [64, 64]},
                               {"name": "*", "split": ["tp"]})");
  const Resolved resolved = resolve_source(flat, cards(4, card({array("w", {64, 16}), array("m.w", {1024})})));
  REQUIRE(resolved.warnings.size() == 1);
  CHECK_THAT(resolved.warnings[0], Contains("parameter 'm.w'") && Contains("is [64, 64] by \"shape\"") &&
                                       Contains("is [256, 16]: is one of the two rules wrong?"));
}

TEST_CASE("a target's tensors are held against one another, too") {
  const Layout of = rules(R"({"name": "m.{x}", "like": "{x}"}, {"name": "*"})", "1");
  CHECK_THROWS_WITH(target(of, {tensor("w", {4}), tensor("m.w", {5})}),
                    Contains("its logical shape is [5], expected [4] as 'w'"));
  CHECK(target(of, {tensor("w", {4}), tensor("m.w", {4})}).tensors().size() == 2);
}
