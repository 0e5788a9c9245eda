#include "catch.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const char* const masters = R"("parameters": [{"name": "fp32.{x}", "equals": "{x}"}, {"name": "*"}])";

std::vector<std::string> pairs(const Placement& placement) {
  std::vector<std::string> all;
  for (const Equality& each : placement.equalities())
    all.push_back(placement.tensors()[each.parameter].name + " = " + placement.tensors()[each.other].name);
  return all;
}

}  // namespace

TEST_CASE("equals: the pairs of parameters that must have the same values") {
  const Layout of = layout(R"(["x"])", "[1]", masters);
  const CardArrays all = card({array("a", {2}), array("b", {3}), array("fp32.a", {2}), array("fp32.b", {3})});
  CHECK(pairs(resolve_source(of, {all}).placement) == Words{"fp32.a = a", "fp32.b = b"});
  CHECK(pairs(target(of, {tensor("a", {2}), tensor("fp32.a", {2})})) == Words{"fp32.a = a"});
}

TEST_CASE("equals speaks of a bucket's members, too") {
  const Layout of =
      layout(R"(["dp"])", "[2]", std::string(masters) + R"(, "buckets": [{"name": "flat", "axis": "dp", "members": [
                           {"name": "fp32.a", "like": "a"}, {"name": "fp32.b", "like": "b"}]}])");
  const CardArrays each = card({array("a", {2}), array("b", {4}), array("flat", {3})});
  const Resolved resolved = resolve_source(of, cards(2, each));
  CHECK(pairs(resolved.placement) == Words{"fp32.a = a", "fp32.b = b"});
  CHECK(resolved.warnings.empty());
  const Resolved written =
      resolve_target(of, {tensor("a", {2}), tensor("b", {4}), tensor("fp32.a", {2}), tensor("fp32.b", {4})});
  CHECK(pairs(written.placement) == Words{"fp32.a = a", "fp32.b = b"});
  CHECK(written.warnings.empty());
}

TEST_CASE("equals: both must be there, with one shape") {
  const Layout of = layout(R"(["x"])", "[1]", masters);
  CHECK_THROWS_WITH(
      resolve_source(of, {card({array("fp32.a", {2}), array("aa", {2})})}),
      Contains("parameter 'fp32.a' (a.json): it \"equals\" 'a', which no file holds") && Contains("nearest names: aa"));
  CHECK_THROWS_WITH(resolve_source(of, {card({array("fp32.a", {2}), array("a", {2, 1})})}),
                    Contains("parameter 'fp32.a' (a.json, rule \"fp32.{x}\"): its logical shape is [2]") &&
                        Contains("expected [2, 1], as of 'a', which it \"equals\""));
  CHECK_THAT(refused(
                 [&] {
                   target(of, {tensor("a", {2, 1}), tensor("fp32.a", {2})});
                 },
                 Kind::layout),
             Contains("expected [2, 1], as of 'a', which it \"equals\""));
  CHECK_THAT(refused(
                 [&] {
                   resolve_source(of, {card({array("fp32.a", {2}), array("a", {2, 1})})});
                 },
                 Kind::input),
             Contains("as of 'a', which it \"equals\""));
}

TEST_CASE("equals: nothing is said where a job leaves one of the two out") {
  const Layout of = layout(R"(["x"])", "[1]", masters);
  const CardArrays both = card({array("a", {2}), array("fp32.a", {2})});
  const auto only = [&](const std::string& name) {
    return resolve_source(of, {both}, [name](const std::string& each) { return each == name; }).placement;
  };
  CHECK(pairs(only("a")).empty());
  CHECK(pairs(only("fp32.a")).empty());
  CHECK(pairs(target(of, {tensor("fp32.a", {2})})).empty());
}

TEST_CASE("equals: a written layout says no more of it than can be held") {
  const Layout of = layout(R"(["x"])", "[1]", masters);
  CHECK(target(of, {tensor("a", {2}), tensor("fp32.a", {2})}).layout().parameters[0].equals);
  const Placement lone = target(of, {tensor("fp32.a", {2})});
  CHECK_FALSE(lone.layout().parameters[0].equals);
  CHECK(resolve_source(lone.layout(), {card({array("fp32.a", {2})})}).placement.equalities().empty());
}
