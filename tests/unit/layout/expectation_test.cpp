#include "layout/placement/expectation.hpp"

#include "catch.hpp"
#include "layout/placement/explain_logical_shape.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

Deviations compared(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                    const Allowances& allowances = {}) {
  return deviations(found, expected, "ref.json", allowances, [](std::size_t, const Shape&) { return ""; });
}

DType bf16() {
  return *number_type("bf16");
}

/// The hint for the only parameter that cards store in one shape.
std::string hint(const Layout& layout, const Shape& stored, const Shape& expected) {
  const auto files = cards(layout.mesh.size(), card({array("w", stored)}));
  return explain_logical_shape(resolve_source(layout, files).placement, 0, expected);
}

Layout dp_tp(const std::string& keys) {
  return one_rule(R"(["dp", "tp"])", "[2, 4]", keys);
}

}  // namespace

TEST_CASE("what is as the reference has it does not deviate") {
  const std::vector<Tensor> same{tensor("a", {2, 3}), tensor("b", {}, bf16())};
  CHECK(compared(same, same).lines.empty());
  CHECK(compared(same, same).tensors == 0);
  CHECK(compared({tensor("a", {2}, *number_type("i64be"))}, {tensor("a", {2}, *number_type("i64"))}).lines.empty());
}

TEST_CASE("shapes and dtypes that deviate, by the pattern of their names") {
  const Deviations found = compared({tensor("layers.0.o", {256, 16}), tensor("layers.1.o", {256, 16}),
                                     tensor("layers.2.o", {64, 64}), tensor("norm", {4})},
                                    {tensor("layers.0.o", {64, 64}), tensor("layers.1.o", {64, 64}),
                                     tensor("layers.2.o", {64, 64}), tensor("norm", {4}, bf16())});
  CHECK(found.tensors == 3);
  CHECK(found.lines ==
        Words{"layers.*.o (2 parameters): [256, 16], ref.json has [64, 64]", "norm: f32, ref.json has bf16"});
}

TEST_CASE("missing and extra names are told of with the nearest of the other side") {
  const Deviations found = compared(
      {tensor("blocks.0.w", {2}), tensor("step", {})},
      {tensor("block.0.w", {2}), tensor("lm.3", {2}), tensor("lm.4", {2}), tensor("lm.5", {2}), tensor("lm.6", {2})});
  CHECK(found.tensors == 7);
  CHECK(found.lines == Words{"block.0.w: missing, ref.json has it; the nearest name is blocks.0.w",
                             "lm.* (4 parameters): missing, ref.json has it: lm.3 … lm.6",
                             "blocks.0.w: not in ref.json; the nearest name is block.0.w", "step: not in ref.json"});
}

TEST_CASE("names can be excused, and an excuse that is of no use is told of") {
  Allowances allowances;
  for (const char* const text : {"optim.*", "rng"}) allowances.extra.emplace_back(text);
  for (const char* const text : {"tied", "lm_haed.*"}) allowances.missing.emplace_back(text);
  const Deviations found = compared({tensor("optim.w", {2}), tensor("rng", {2}), tensor("w", {2})},
                                    {tensor("lm_head.w", {2}), tensor("tied", {2}), tensor("w", {2})}, allowances);
  CHECK(found.lines == Words{"lm_head.w: missing, ref.json has it"});
  const Words warnings = unused_allowances(allowances, {&found});
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Contains("'lm_haed.*' excuses nothing") && Contains("nearest names: lm_head.w"));
}

TEST_CASE("an excuse is idle where neither of two checkpoints needs it, whatever else their names are") {
  Allowances allowances;
  for (const char* const text : {"a.*", "b.*"}) allowances.extra.emplace_back(text);
  const Deviations one = compared({tensor("a.w", {2}), tensor("b_w", {2})}, {}, allowances);
  const Deviations other = compared({tensor("b-w", {2})}, {}, allowances);
  const Words warnings = unused_allowances(allowances, {&one, &other});
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Contains("'b.*' excuses nothing") && Contains("b_w") && Contains("b-w"));
}

TEST_CASE("what is said of parameters and of their state alike is one line") {
  std::vector<Tensor> found;
  std::vector<Tensor> expected;
  for (const char* const state : {"layers.", "m.layers.", "v.layers."})
    for (const char* const end : {"0.o", "1.o"}) {
      found.push_back(tensor(std::string(state) + end, {8, 2}));
      expected.push_back(tensor(std::string(state) + end, {4, 4}));
    }
  for (const auto& [name, rows] : {std::pair{"w", 8}, std::pair{"w.exp_avg", 8}, std::pair{"w.max", 2}}) {
    found.push_back(tensor(name, {8}));
    expected.push_back(tensor(name, {std::uint64_t(rows) + 1}));
  }
  CHECK(compared(found, expected).lines ==
        Words{"layers.*.o, m.layers.*.o, v.layers.*.o (6 parameters): [8, 2], ref.json has [4, 4]",
              "w, w.exp_avg (2 parameters): [8], ref.json has [9]", "w.max: [8], ref.json has [3]"});
}

TEST_CASE("a wrong logical shape: which dimension over which axes would fit") {
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {64, 64}) == "dim 1 over tp=4 would fit");
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {128, 64}) == "dim 0 over dp=2 and dim 1 over tp=4 would fit");
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {64, 128}) == "dim 1 over dp=2 and tp=4 would fit");
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {64, 16}) == "not split it would fit");
  CHECK(hint(dp_tp(R"("split": ["tp"], "permute": [1, 0])"), {16, 64}, {64, 64}) == "dim 1 over tp=4 would fit");
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {250, 16}) == "is dim 0 padded (\"pad\" with \"size\": 250)?");
  CHECK(hint(dp_tp(R"("split": [])"), {64, 16}, {16, 64}) ==
        "with its dimensions in the other order (\"permute\") it would fit");
  CHECK(hint(one_rule(R"(["a", "b"])", "[2, 2]", R"("split": ["a"])"), {4, 3}, {4, 6}) ==
        "dim 1 over a=2 or dim 1 over b=2 would fit");
  // Along an axis that splits nothing, cards most likely hold copies.
  CHECK(hint(one_rule(R"(["a", "b"])", "[2, 2]", R"("split": ["b"])"), {4, 3}, {4, 6}) ==
        "dim 1 over b=2 or dim 1 over a=2 would fit");
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {64, 63}).empty());
  CHECK(hint(dp_tp(R"("split": ["tp"])"), {64, 16}, {64}).empty());
  CHECK(hint(dp_tp(R"("flat": {"axis": "dp"}, "shape": [8, 8])"), {32}, {8, 16}).empty());
}
