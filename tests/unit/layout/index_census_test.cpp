#include "layout/names/index_census.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// A stage's layers by the numbers in its file.
CardArrays stage(std::initializer_list<int> numbers) {
  std::vector<StoredArray> arrays;
  for (const int number : numbers) arrays.push_back(array("layers." + std::to_string(number) + ".w", {1}));
  return card(std::move(arrays));
}

Layout counting(const std::string& keys, const std::string& stages = "2") {
  return layout(R"(["pp"])", "[" + stages + "]",
                R"("default": "replicate", "indices": [{"in": "layers.{i}.*", "axis": "pp")" + keys + "}]");
}

Words names_of(const Layout& of, const std::vector<CardArrays>& files) {
  Words names;
  const Resolved resolved = resolve_source(of, files);
  for (const Tensor& each : resolved.placement.tensors()) names.push_back(each.name);
  return names;
}

std::string refusal(const Layout& of, const std::vector<CardArrays>& files) {
  return refused([&] { resolve_source(of, files); });
}

const Words four_layers{"layers.0.w", "layers.1.w", "layers.2.w", "layers.3.w"};

}  // namespace

TEST_CASE("a total too large is refused with what is missing and what would fit") {
  CHECK(names_of(counting(R"(, "total": 4, "numbering": "local")"), cards(2, stage({0, 1}))) == four_layers);
  CHECK(refusal(counting(R"(, "total": 6, "numbering": "local")"), cards(2, stage({0, 1}))) ==
        "a.json: /indices/0: \"layers.{i}.*\": no name has the index 2, 5, expected each from 0 to 5 in some name; "
        "\"total\": 4 would fit");
  CHECK_THAT(refusal(counting(R"(, "total": 1000000000000, "numbering": "local")"), cards(2, stage({0}))),
             Contains("no name has the index 1, 2, 3, 4, 5, 6, 7, 8, … (999999999990 more)") &&
                 Contains("\"total\": 2 would fit"));
  CHECK_THAT(refusal(counting(R"(, "total": 6)"), {stage({0, 1, 2}), stage({3})}),
             Contains("no name has the index 4, 5") && Contains("\"total\": 4 would fit"));
}

TEST_CASE("a gap is refused with the keys that would fit, where some would") {
  CHECK_THAT(refusal(counting(R"(, "total": 6, "numbering": "local")"), {stage({0, 1, 2}), stage({0})}),
             Contains("\"counts\": [3, 1] would fit"));
  CHECK_THAT(refusal(counting(R"(, "counts": [3, 3], "numbering": "local")"), {stage({1, 2}), stage({1, 2})}),
             Contains("no name has the index 0, 3") && Contains("\"first\": 1 and \"total\": 4 would fit"));
  CHECK_THAT(refusal(counting(R"(, "total": 4)"), cards(2, stage({0, 1}))),
             Contains("is it \"numbering\": \"local\"?"));
  CHECK_THAT(refusal(counting(R"(, "total": 4, "numbering": "local")"), {stage({0, 1}), stage({1})}),
             Contains("no name has the index 2") && !Contains("would fit"));
  CHECK_THAT(refusal(counting(R"(, "counts": [1, 3])"), {stage({0}), stage({1, 2})}),
             Contains("no name has the index 3") && Contains("\"counts\" that add up to 3 would fit"));
}

TEST_CASE("a total too small is refused with the one that would fit") {
  CHECK_THAT(refusal(counting(R"(, "total": 2, "numbering": "local")"), cards(2, stage({0, 1}))),
             Contains("has the number 1") && Contains("/indices/0: \"total\": 4 would fit"));
  CHECK_THAT(refusal(counting(R"(, "total": 2)"), {stage({0, 1}), stage({2, 3})}), Contains("\"total\": 4 would fit"));
}

TEST_CASE("a total that is left out comes from the names") {
  CHECK(names_of(counting(R"(, "numbering": "local")"), cards(2, stage({0, 1}))) == four_layers);
  CHECK(names_of(counting(R"(, "numbering": "local", "first": 5)"), cards(2, stage({5, 6}))) == four_layers);
  CHECK(names_of(counting(R"(, "numbering": "local", "virtual": 2)"), cards(2, stage({0, 1}))) == four_layers);
  CHECK(names_of(counting(""), {stage({0, 1}), stage({2, 3})}) == four_layers);
  CHECK_THAT(refusal(counting(R"(, "numbering": "local")"), {stage({0, 1}), stage({0})}),
             Contains("no name has the index 3") && Contains("\"counts\": [2, 1] would fit"));
  const Resolved none = resolve_source(counting(""), cards(2, card({array("w", {1})})));
  REQUIRE(none.warnings.size() == 1);
  CHECK_THAT(none.warnings[0], Contains("/indices/0: \"layers.{i}.*\" of indices matches no name"));
}

TEST_CASE("a total that is left out and does not divide is refused") {
  CHECK_THROWS_WITH(resolve_source(counting(""), {stage({0, 1}), stage({2})}),
                    Contains("the names count 3 indices, expected a multiple of 2") && Contains("\"counts\""));
  CHECK_THROWS_WITH(resolve_source(counting(R"(, "numbering": "local", "first": 5)"), cards(2, stage({0}))),
                    Contains("found no number above 0, expected local numbers from 5 on"));
}

TEST_CASE("chunks that restart are counted together") {
  const auto chunked = [](std::initializer_list<const char*> names) {
    std::vector<StoredArray> arrays;
    for (const char* name : names) arrays.push_back(array(name, {1}));
    return card(std::move(arrays));
  };
  const Layout of = layout(R"(["pp"])", "[2]", R"("default": "replicate", "indices": [{"in": "model{chunk}.{i}.*",
                           "axis": "pp", "numbering": "local", "virtual": 2, "restart": true}])");
  CHECK(names_of(of, cards(2, chunked({"model0.0.w", "model1.0.w"}))) ==
        Words{"model0.0.w", "model0.1.w", "model0.2.w", "model0.3.w"});
  CHECK_THAT(refusal(of, {chunked({"model0.0.w", "model1.0.w"}), chunked({"model0.0.w"})}),
             Contains("no name has the index 3"));
}

TEST_CASE("a bucket's members count, too") {
  const Layout of = layout(R"(["dp"])", "[1]",
                           R"("default": "replicate", "indices": [{"in": "layers.{i}.*", "axis": "dp"}],
         "buckets": [{"name": "flat", "axis": "dp", "members": [{"name": "layers.1.w", "shape": [2]}]}])");
  CHECK(names_of(of, {card({array("flat", {2}), array("layers.0.w", {1})})}) == Words{"layers.0.w", "layers.1.w"});
}

TEST_CASE("a target takes the total from the tensors, and must not have gaps") {
  const auto layers = [](std::initializer_list<int> numbers) {
    std::vector<Tensor> tensors;
    for (const int number : numbers) tensors.push_back(tensor("layers." + std::to_string(number) + ".w", {1}));
    return tensors;
  };
  const Layout of = counting(R"(, "numbering": "local")");
  CHECK(shown(target(of, layers({0, 1, 2, 3})), "layers.1.w") == Words{"0", "0"});
  CHECK_THROWS_WITH(target(of, layers({0, 3})), Contains("no name has the index 1, 2"));
  CHECK_THROWS_WITH(target(counting(R"(, "total": 6)"), layers({0, 1, 2, 3})),
                    Contains("no name has the index 4, 5") && Contains("\"total\": 4 would fit"));
  try {
    target(of, layers({1}));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::layout);
  }
}
