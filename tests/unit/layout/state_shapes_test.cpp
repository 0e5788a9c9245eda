#include "layout/placement/state_shapes.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// Two cards of two layers whose weights are row-parallel, with moments by these names.
Words warned(const std::string& weight_rule, const std::string& moment_rule, const std::string& moment = "exp_avg.") {
  std::vector<StoredArray> arrays;
  for (const std::string i : {"0", "1"}) {
    const std::string name = "layers." + i + ".o.weight";
    arrays.push_back(array(name, {8, 4}));
    arrays.push_back(array(moment.ends_with('.') ? moment + name : name + moment, {8, 4}));
  }
  const Layout of = layout(R"(["tp"])", "[2]", R"("parameters": [)" + moment_rule + ", " + weight_rule + "]");
  return resolve_source(of, cards(2, card(arrays))).warnings;
}

constexpr const char* right = R"({"name": "*", "split": [null, "tp"]})";
constexpr const char* wrong = R"({"name": "*", "split": ["tp"]})";
constexpr const char* moments = R"({"name": ["exp_avg.*", "*/exp_avg"], "split": [null, "tp"]})";

}  // namespace

TEST_CASE("a moment of another logical shape than its weight is told of, once for all layers") {
  const Words found = warned(wrong, moments);
  REQUIRE(found.size() == 1);
  CHECK(
      found[0] ==
      "a.json: 'exp_avg.layers.0.o.weight' has the logical shape [8, 8], and 'layers.0.o.weight' has the logical shape "
      "[16, 4] (and so for 1 more of exp_avg.layers.*.o.weight): is one of the two rules wrong?");
  CHECK(warned(wrong, moments, "/exp_avg").size() == 1);
  CHECK(warned(right, moments).empty());
}

TEST_CASE("what is like its weight is a matter of `like`") {
  CHECK(warned(wrong, R"({"name": "exp_avg.{x}", "like": "{x}"})").empty());
}

TEST_CASE("a name that is part of a few others is no sign of state, nor is a shape of its own") {
  std::vector<StoredArray> arrays{array("proj.weight", {8, 4}), array("visual.proj.weight", {8, 4})};
  for (const std::string i : {"0", "1", "2"}) arrays.push_back(array("layers." + i + ".w", {8, 4}));
  const Layout of =
      layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "visual.*"}, {"name": "*", "split": ["tp"]}])");
  CHECK(resolve_source(of, cards(2, card(arrays))).warnings.empty());

  const Layout factored =
      layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "row.*"}, {"name": "*", "split": ["tp"]}])");
  CHECK(resolve_source(factored, cards(2, card({array("w", {8, 4}), array("row.w", {1, 4})}))).warnings.empty());
}
