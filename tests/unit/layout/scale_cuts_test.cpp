#include "layout/placement/scale_cuts.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;

namespace {

using namespace fixture;
using Catch::Matchers::Contains;

struct Model {
  Tensor codes;
  Tensor scales;
};

Model fp8(const Shape& codes, const Shape& scales) {
  return {tensor("l.weight", codes, *number_type("f8_e4m3")), tensor("l.weight_scale", scales)};
}

/// Rules for both, of which "" leaves the scales to the default.
Placement cut(const Model& model, const char* shape, const std::string& codes, const std::string& scales) {
  std::string rules = R"("default": "replicate", "parameters": [{"name": "l.weight", )" + codes + "}";
  if (!scales.empty()) rules += R"(, {"name": "l.weight_scale", )" + scales + "}";
  return target(layout(R"(["tp"])", shape, rules + "]"), {model.codes, model.scales});
}

/// Of a source in one file.
std::vector<std::string> told(const Model& model, const char* shape, const std::string& codes,
                              const std::string& scales) {
  const Placement whole = target(single_card(), {model.codes, model.scales});
  return check_scale_cuts(cut(model, shape, codes, scales), whole, {0, 1});
}

std::string refusal(const Model& model, const char* shape, const std::string& codes, const std::string& scales) {
  return refused([&] { told(model, shape, codes, scales); }, Kind::layout);
}

const std::string rows = R"("split": ["tp"])";
const std::string columns = R"("split": [null, "tp"])";
const std::string ceil_columns = R"("split": [null, "tp"], "uneven": "ceil")";
const std::string ceil_rows = R"("split": ["tp"], "uneven": "ceil")";

TEST_CASE("Codes and their scales are cut together, at multiples of the block") {
  CHECK(told(fp8({256, 384}, {2, 3}), "[2]", rows, rows).empty());
  CHECK(told(fp8({256, 384}, {2, 3}), "[3]", columns, columns).empty());
  CHECK(told(fp8({576, 512}, {5, 4}), "[5]", R"("split": ["tp"], "sizes": {"0": [128, 128, 128, 128, 64]})", rows)
            .empty());
  CHECK(told(fp8({256, 384}, {}), "[2]", rows, "").empty());
  CHECK(told(fp8({256, 384}, {1, 1}), "[2]", rows, "").empty());
  CHECK(told(fp8({256, 384}, {256, 1}), "[2]", columns, "").empty());
  CHECK(told(fp8({256, 384}, {384}), "[2]", columns, rows).empty());
  CHECK(told(fp8({256, 384}, {2, 3}), "[1]", rows, "").empty());
}

TEST_CASE("A scale that is cut otherwise than what it scales is refused, and why is said") {
  CHECK_THAT(refusal(fp8({256, 384}, {2, 3}), "[2]", rows, ""), Contains("is whole, while 'l.weight'"));
  CHECK_THAT(refusal(fp8({256, 384}, {256, 1}), "[2]", rows, ""), Contains("cut over tp in dimension 0"));
  CHECK_THAT(refusal(fp8({256, 384}, {384}), "[2]", columns, ""), Contains("in dimension 1"));
  // Blocks are 128 x 128, the last one is short: half of the rows is within the first.
  CHECK_THAT(refusal(fp8({192, 256}, {2, 2}), "[2]", rows, rows), Contains("128 elements") && Contains("cut at 96"));
  CHECK_THAT(refusal(fp8({8, 8}, {4, 4}), "[8]", rows, ceil_rows), Contains("2 elements") && Contains("cut at 1"));
  CHECK_THAT(refusal(fp8({256, 384}, {2, 3}), "[2]", R"("split": [])", rows), Contains("is whole"));
}

TEST_CASE("One scale for all codes, or for a row of them, is on every card that has some") {
  for (const Shape& scale : {Shape{1}, Shape{1, 1}}) {
    CHECK_THAT(refusal(fp8({256, 384}, scale), "[2]", ceil_rows, ceil_rows),
               Contains("belongs to each of its codes") && Contains(R"("l.weight_scale", "split": []})"));
    CHECK(told(fp8({256, 384}, scale), "[2]", rows, R"("split": [])").empty());
  }
  CHECK_THAT(refusal(fp8({256, 384}, {256, 1}), "[2]", ceil_columns, ceil_columns),
             Contains("belongs to each of its codes"));
  CHECK(told(fp8({1, 384}, {1, 3}), "[2]", ceil_rows, ceil_rows).empty());
}

TEST_CASE("A rule that leaves the scale whole, and a source that is cut so, are only told of") {
  const Model model = fp8({256, 384}, {2, 3});
  REQUIRE(told(model, "[2]", rows, R"("split": [])").size() == 1);
  const Placement source = cut(model, "[2]", rows, "");
  CHECK(check_scale_cuts(cut(model, "[4]", rows, ""), source, {0, 1}).size() == 1);
}

TEST_CASE("Packed rows have scales, and places of their columns, of their own") {
  const Model gptq{tensor("l.qweight", {4, 8}, *number_type("i32")), tensor("l.g_idx", {32}, *number_type("i32"))};
  const auto of = [&](const std::string& codes, const std::string& index) {
    const Layout to = layout(R"(["tp"])", "[2]",
                             R"("default": "replicate", "parameters": [{"name": "*.qweight", )" + codes +
                                 R"(}, {"name": "*.g_idx", )" + index + "}]");
    const Placement whole = target(single_card(), {gptq.scales, gptq.codes});
    return check_scale_cuts(target(to, {gptq.scales, gptq.codes}), whole, {0, 1});
  };
  CHECK(of(rows, rows).empty());
  CHECK(of(columns, R"("split": [])").empty());
}

TEST_CASE("What describes or is looked up by all codes is not cut, nor are codes that it describes") {
  const Tensor codes = tensor("b.weight", {32, 1}, *number_type("u8"));
  const auto refusal_of = [&](const Tensor& other, const std::string& rules) {
    const Layout to = layout(R"(["tp"])", "[2]", R"("default": "replicate", "parameters": [)" + rules + "]");
    return refused(
        [&] {
          check_scale_cuts(target(to, {codes, other}), target(single_card(), {codes, other}), {0, 1});
        },
        Kind::layout);
  };
  const Tensor map = tensor("b.weight.quant_map", {16});
  const Tensor state = tensor("b.weight.quant_state.bitsandbytes__nf4", {64}, *number_type("u8"));
  CHECK_THAT(refusal_of(map, R"({"name": "*.quant_map", "split": ["tp"]})"), Contains("is cut, although"));
  CHECK_THAT(refusal_of(state, R"({"name": "b.weight", "split": ["tp"]})"), Contains("the shape of all"));
  CHECK(refusal_of(map, R"({"name": "b.weight", "split": ["tp"]})").empty());
}

}  // namespace
