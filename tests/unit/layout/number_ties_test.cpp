#include "layout/placement/number_ties.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;

namespace {

using fixture::tensor;
using Role = NumberTie::Role;

DType type(const char* name) {
  return *number_type(name);
}

/// "weight_scale_inv of l.weight", "codes": the tie of the last tensor; empty where it has none.
std::string tie_of_last(const std::vector<Tensor>& tensors) {
  const auto ties = number_ties(tensors);
  if (!ties.back()) return "";
  if (ties.back()->role == Role::codes) return "codes";
  return (ties.back()->role == Role::scale ? "scale of " : "table of ") + ties.back()->codes;
}

TEST_CASE("What a quantised model's files hold beside codes belongs to them") {
  const Tensor fp8 = tensor("l.weight", {8, 8}, type("f8_e4m3"));
  CHECK(tie_of_last({fp8}) == "codes");
  for (const char* name :
       {"l.weight_scale_inv", "l.weight_scale", "l.weight.scale", "l.scale", "l.weight_zero_point"}) {
    CAPTURE(name);
    CHECK(tie_of_last({fp8, tensor(name, {2, 2})}) == "scale of l.weight");
  }
  CHECK(tie_of_last({fp8, tensor("l.input_scale", {})}) == "scale of l.weight");
  CHECK(tie_of_last({tensor("a.k_proj.weight", {8, 8}, type("f8_e5m2")), tensor("a.k_scale", {})}) ==
        "scale of a.k_proj.weight");
  CHECK(tie_of_last({tensor("l/kernel", {8, 8}, type("f8_e4m3")), tensor("l/kernel_scale", {8})}) ==
        "scale of l/kernel");
  CHECK(tie_of_last({fp8, tensor("attn.kv_scale", {})}) == "scale of ");  // in no module of codes
  CHECK(tie_of_last({tensor("ln.bias", {8}), tensor("attn.kv_scale", {})}).empty());
  const Tensor int8 = tensor("t.weight", {4, 4}, type("i8"));
  for (const char* name : {"t.weights_scaling_factor", "t.alpha", "t.smooth"}) {
    CAPTURE(name);
    CHECK(tie_of_last({int8, tensor(name, {4})}) == "scale of t.weight");
  }
  CHECK(tie_of_last({int8, tensor("lora.alpha", {4})}).empty());
  CHECK(tie_of_last({tensor("e.trellis", {4, 2}, type("i16")), tensor("e.suh", {4})}) == "scale of e.trellis");
  const Tensor gptq = tensor("q.qweight", {1, 8}, type("i32"));
  CHECK(tie_of_last({gptq, tensor("q.scales", {1, 8}, type("f16"))}) == "scale of q.qweight");
  CHECK(tie_of_last({gptq, tensor("q.qzeros", {1, 1}, type("i32"))}) == "scale of q.qweight");
  const Tensor packed = tensor("b.weight", {32, 1}, type("u8"));
  CHECK(tie_of_last({packed, tensor("b.weight.absmax", {1})}) == "scale of b.weight");
  CHECK(tie_of_last({packed, tensor("b.weight.quant_map", {16})}) == "table of b.weight");
  CHECK(tie_of_last({packed, tensor("b.weight.nested_absmax", {1})}) == "scale of b.weight");
  CHECK(tie_of_last({packed, tensor("b.SCB", {8})}) == "scale of b.weight");
  CHECK(tie_of_last({tensor("e.up_blocks", {1, 2, 1, 16}, type("u8")), tensor("e.up_scales", {1, 2, 1}, type("u8"))}) ==
        "scale of e.up_blocks");
  CHECK(tie_of_last({tensor("c.weight_packed", {2, 1}, type("i32")), tensor("c.weight_scale", {2, 1})}) ==
        "scale of c.weight_packed");
  CHECK(tie_of_last({tensor("h.W_q", {4, 4}, type("u8")), tensor("h.zero", {4, 1})}) == "scale of h.W_q");
}

TEST_CASE("Names that nothing else has tell by themselves, also without their codes") {
  CHECK(tie_of_last({tensor("l.weight_scale_inv", {1, 1})}) == "scale of ");
  CHECK(tie_of_last({tensor("b.weight.quant_map", {16})}) == "table of ");
  CHECK(tie_of_last({tensor("l.weight_quantizer._amax", {1})}) == "scale of ");
}

TEST_CASE("A scale beside no codes is a parameter like others, and so are integers that count") {
  CHECK(tie_of_last({tensor("ln.bias", {8}), tensor("ln.scale", {8})}).empty());
  CHECK(tie_of_last({tensor("logit_scale", {})}).empty());
  CHECK(tie_of_last({tensor("block.gamma", {8}), tensor("block.layer_scale", {8})}).empty());
  CHECK(tie_of_last({tensor("bn.num_batches_tracked", {}, type("i64")), tensor("bn.scale", {8})}).empty());
  CHECK(tie_of_last({tensor("a.relative_position_index", {4, 4}, type("i64")), tensor("a.logit_scale", {4})}).empty());
  CHECK(tie_of_last({tensor("l.weight", {8, 8}, type("f8_e4m3")), tensor("l.bias", {8})}).empty());
  CHECK(tie_of_last({tensor("l.weight", {8, 8}, type("f8_e4m3")), tensor("norm.scale", {8})}).empty());
  CHECK(tie_of_last({tensor("ids", {8}, type("i32"))}).empty());
}

}  // namespace
