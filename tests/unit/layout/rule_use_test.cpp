#include "layout/names/rule_use.hpp"

#include "catch.hpp"
#include "layout/names/rule_name.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

TEST_CASE("of thousands of rules that match nothing the first are told") {
  std::string rules = R"("parameters": [{"name": "w"})";
  for (int i = 0; i < 5000; ++i) rules += R"(, {"name": "layers.)" + std::to_string(i) + R"(.w"})";
  const auto warnings = resolve_target(layout(R"(["x"])", "[1]", rules + "]"), {tensor("w", {1})}).warnings;
  REQUIRE(warnings.size() == 9);
  CHECK_THAT(warnings[0], Contains("/parameters/1: rule \"layers.0.w\" matches no parameter"));
  CHECK_THAT(warnings[0], !Contains("nearest"));
  CHECK_THAT(warnings[8], Contains("a.json: 4992 more rules match no parameter"));
}

TEST_CASE("4: a rule that matches nothing is a warning with the nearest names") {
  const Layout of = layout(R"(["tp"])", "[1]", R"("parameters": [{"name": "*.wqq"}, {"name": "*"}])");
  const Resolved resolved = resolve_source(of, {card({array("layer.wq", {1}), array("bias", {1})})});
  REQUIRE(resolved.warnings.size() == 1);
  CHECK_THAT(resolved.warnings[0],
             Contains("/parameters/0") && Contains("\"*.wqq\" matches no parameter") && Contains("layer.wq"));
  CHECK(resolve_target(of, resolved.placement.tensors()).warnings.size() == 1);
}

TEST_CASE("A rule of several patterns is named by these and its place") {
  const Layout of = layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "*.b"},
      {"name": ["*.wq", "*.wk", "*.wv", "*.wo", "*.w"], "split": ["tp"]}])");
  CHECK(rule_name(of, 0) == "rule \"*.b\"");
  CHECK(rule_name(of, 1) == "rule \"*.wq, *.wk, *.wv, … (2 more)\" at /parameters/1");
  CHECK(patterns_of(of.parameters[1], 5) == "*.wq, *.wk, *.wv, *.wo, *.w");
}

TEST_CASE("4: a rule that only lends to others by like is used") {
  const Layout of = layout(R"(["tp"])", "[1]", R"("parameters": [
      {"name": "m.{x}", "like": "h.{x}"}, {"name": "h.{x}", "like": "{x}"}, {"name": "*.w", "split": ["tp"]}])");
  CHECK(resolve_source(of, {card({array("m.a.w", {1})})}).warnings.empty());
  CHECK(resolve_target(of, {tensor("m.a.w", {1})}).warnings.empty());
}

TEST_CASE("4: names are offered only where a slip of the keyboard would do") {
  const auto warning = [](const std::string& pattern, const std::string& name) {
    const Layout of =
        layout(R"(["tp"])", "[1]", R"("default": "replicate", "parameters": [{"name": ")" + pattern + "\"}]");
    return resolve_source(of, {card({array(name, {1})})}).warnings.at(0);
  };
  CHECK_THAT(warning("*.attention.wq", "layers.0.attn.wq"), !Contains("nearest"));
  CHECK_THAT(warning("layers.*.atention.w?", "layers.0.attention.wq"),
             Contains("nearest names: layers.0.attention.wq"));
  CHECK_THAT(warning("{x}.wq.[b]iass", "l.wq.bias"), Contains("nearest names: l.wq.bias"));
  CHECK_THAT(warning("*.w", "b"), !Contains("nearest"));
}
