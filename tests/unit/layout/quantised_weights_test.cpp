#include "layout/placement/quantised_weights.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;

namespace {

using fixture::tensor;

DType type(const char* name) {
  return *number_type(name);
}

DType e8m0() {
  return {ElementKind::other, ByteOrder::little, 1, "f8_e8m0", {}};
}

QuantisedWeights found_in(const std::vector<Tensor>& tensors, const std::string& config = "{}") {
  return quantised_weights(tensors,
                           QuantisationConfig::parse(R"({"quantization_config": )" + config + "}", "config.json"),
                           [](const std::string&) { return std::string(R"({"shape": [3, 5], "blocksize": 4})"); });
}

/// "MXFP4 w [2, 64, 3]" for the only weight; else what is wrong.
std::string only(const std::vector<Tensor>& tensors, const std::string& config = "{}") {
  const QuantisedWeights found = found_in(tensors, config);
  if (!found.problems.empty()) return found.problems.front().second.what();
  REQUIRE(found.weights.size() == 1);
  const QuantisedWeight& weight = found.weights.front();
  return weight.what + " " + weight.name + " " + to_string(weight.shape);
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("Families are known by names, dtypes and shapes") {
  const Tensor fp8 = tensor("l.weight", {300, 257}, type("f8_e4m3"));
  CHECK(only({fp8, tensor("l.weight_scale_inv", {3, 3})}) == "fp8 in blocks of 128 x 128 l.weight [300, 257]");
  CHECK(only({fp8, tensor("l.scale", {3, 3}, e8m0())}) == "fp8 in blocks of 128 x 128 l.weight [300, 257]");
  CHECK(only({fp8, tensor("l.weight_scale", {300, 1})}) == "fp8 by channel l.weight [300, 257]");
  CHECK(only({fp8, tensor("l.weight_scale", {300}, type("bf16"))}) == "fp8 by channel l.weight [300, 257]");
  CHECK(only({fp8, tensor("l.weight_scale", {})}) == "fp8 by tensor l.weight [300, 257]");
  CHECK(only({fp8, tensor("l.weight_scale_inv", {})}) == "fp8 by tensor l.weight [300, 257]");
  CHECK(only({tensor("l.weight", {96, 2}, type("f8_e4m3")), tensor("l.weight_scale_inv", {1, 1})}) ==
        "fp8 in blocks of 128 x 128 l.weight [96, 2]");
  CHECK(only({fp8, tensor("l.weight_scale", {300, 9}, type("u8"))}) == "MXFP8 l.weight [300, 257]");
  CHECK(only({tensor("e.w", {2, 130, 128}, type("f8_e4m3")), tensor("e.w_scale_inv", {2, 2, 1})}) ==
        "fp8 in blocks of 128 x 128 e.w [2, 130, 128]");
  CHECK(only({tensor("e.w_blocks", {2, 3, 2, 16}, type("u8")), tensor("e.w_scales", {2, 3, 2}, type("u8"))}) ==
        "MXFP4 e.w [2, 64, 3]");
  const Tensor packed = tensor("n.weight_packed", {4, 16}, type("u8"));
  const Tensor scales = tensor("n.weight_scale", {4, 2}, type("f8_e4m3"));
  CHECK(only({packed, scales, tensor("n.weight_global_scale", {1})}) == "NVFP4 n.weight [4, 32]");
  CHECK(only({tensor("n.weight", {4, 16}, type("u8")), scales, tensor("n.weight_scale_2", {})}) ==
        "NVFP4 n.weight [4, 32]");
  CHECK(only({tensor("i.weight", {4, 6}, type("i8")), tensor("i.SCB", {4}),
              tensor("i.weight_format", {}, type("u8"))}) == "bitsandbytes int8 i.weight [4, 6]");
  CHECK(
      only({tensor("b.weight", {8, 1}, type("u8")), tensor("b.weight.absmax", {4}), tensor("b.weight.quant_map", {16}),
            tensor("b.weight.quant_state.bitsandbytes__nf4", {34}, type("u8"))}) ==
      "bitsandbytes 4-bit b.weight [3, 5]");
}

TEST_CASE("GPTQ and AWQ are told apart by what a word holds") {
  const Tensor scales = tensor("q.scales", {2, 24}, type("f16"));
  const Tensor zeros = tensor("q.qzeros", {2, 3}, type("i32"));
  const Tensor gptq = tensor("q.qweight", {8, 24}, type("i32"));
  CHECK(only({gptq, scales, zeros}) == "GPTQ q.weight [24, 64]");
  CHECK(found_in({gptq, scales, zeros}).weights.front().stored_less == 1);
  CHECK(found_in({gptq, scales, zeros}, R"({"checkpoint_format": "gptq_v2"})").weights.front().stored_less == 0);
  CHECK(only({tensor("q.qweight", {64, 3}, type("i32")), scales, zeros}) == "AWQ q.weight [24, 64]");
  CHECK(
      says(only({tensor("q.qweight", {64, 3}, type("i32")), scales, zeros}, R"({"version": "GEMV"})"), "version gemv"));
  CHECK(says(only({gptq, scales, zeros}, R"({"bits": 8})"), "8 bits"));
  CHECK(says(only({gptq, scales, zeros}, R"({"desc_act": true})"), "'q.g_idx', which belongs to it, is not there"));
  CHECK(says(only({gptq, scales, zeros}, R"({"group_size": 16})"), "in groups of 16"));
  CHECK(found_in({gptq, tensor("q.scales", {1, 24}, type("f16")), tensor("q.qzeros", {1, 3}, type("i32"))},
                 R"({"group_size": -1})")
            .weights.front()
            .block == Shape{1, 64});
}

TEST_CASE("Block sizes come from the configuration, never from the ratio of shapes") {
  const Tensor fp8 = tensor("l.weight", {192, 256}, type("f8_e4m3"));
  const auto blocks = [&](const Shape& grid, const std::string& config) {
    const QuantisedWeights found = found_in({fp8, tensor("l.weight_scale_inv", grid)}, config);
    return found.weights.empty() ? found.problems.front().second.what() : to_string(found.weights.front().block);
  };
  CHECK(blocks({2, 2}, "{}") == "[128, 128]");
  CHECK(blocks({3, 4}, R"({"weight_block_size": [64, 64]})") == "[64, 64]");
  CHECK(blocks({3, 4}, R"({"config_groups": {"a": {"weights": {"block_structure": [64, 64]}}}})") == "[64, 64]");
  CHECK(says(blocks({3, 4}, "{}"), "is f32 [3, 4], expected [2, 2], by blocks of 128 x 128 of [192, 256]"));
  CHECK(says(blocks({2, 2}, R"({"weight_block_size": [64, 64]})"), "expected [3, 4], by blocks of 64 x 64"));
  CHECK(blocks({2, 2}, R"({"weight_block_size": null})") == "[128, 128]");
  for (const char* none : {"[0, 128]", "[-1, 128]", "[128]", "[1.5, 2]"})
    CHECK_THROWS_WITH(blocks({2, 2}, R"({"weight_block_size": )" + std::string(none) + "}"),
                      Catch::Matchers::Contains("rows and columns of a block"));
}

TEST_CASE("What looks quantised and is not known is told, never guessed") {
  const Tensor fp8 = tensor("l.weight", {8, 8}, type("f8_e4m3"));
  CHECK(says(only({fp8}), "there is no scale for them"));
  CHECK(says(only({tensor("l.weight_scale_inv", {1, 1})}), "codes that are not there"));
  CHECK(says(only({tensor("c.weight_packed", {2, 1}, type("i32")), tensor("c.weight_scale", {2, 1})}),
             "in no family that is known here"));
  CHECK(says(only({tensor("n.weight", {4, 16}, type("u8")), tensor("n.weight_sf", {4, 2}, type("f8_e4m3"))}),
             "a kernel's own order"));
  CHECK(says(only({tensor("n.weight", {4, 16}, type("u8")), tensor("n.weight_scale", {128, 4}, type("f8_e4m3")),
                   tensor("n.weight_scale_2", {})}),
             "in the order of the weight"));
  CHECK(found_in({tensor("norm.weight", {8}), tensor("norm.scale", {8})}).problems.empty());
}

TEST_CASE("What surely lacks a part of its family is listed") {
  using Names = std::vector<std::string>;
  const Tensor fp8 = tensor("l.weight", {8, 8}, type("f8_e4m3"));
  const Tensor other = tensor("m.weight", {8, 8}, type("f8_e4m3"));
  const Tensor scale = tensor("l.weight_scale", {});
  CHECK(found_in({fp8, scale, other}).incomplete == Names{"'m.weight' without a scale"});
  CHECK(found_in({other}, R"({"quant_method": "fp8"})").incomplete == Names{"'m.weight' without a scale"});
  CHECK(found_in({fp8, other}).incomplete.empty());  // numbers
  CHECK(found_in({scale}).incomplete == Names{"'l.weight_scale' without its codes"});
  CHECK(found_in({tensor("q.qweight", {1, 8}, type("i32")), tensor("q.scales", {1, 8})}).incomplete ==
        Names{"'q.qweight' without 'q.qzeros'"});
  CHECK(
      found_in({tensor("c.weight_packed", {2, 1}, type("i32")), tensor("c.weight_scale", {2, 1})}).incomplete.empty());
}

TEST_CASE("Scales of activations are left out with the weights") {
  const QuantisedWeights found = found_in({tensor("l.weight", {8, 8}, type("f8_e4m3")), tensor("l.weight_scale", {}),
                                           tensor("l.input_scale", {}), tensor("attn.q_scale", {})});
  CHECK(found.problems.empty());
  CHECK(found.weights.front().others == std::vector<std::string>{"l.input_scale"});
  CHECK(found.strays == std::vector<std::string>{"attn.q_scale"});
  CHECK(found.summary() == "1 of fp8 by tensor");
}

}  // namespace
