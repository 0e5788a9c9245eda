#include "frameworks/torch_dist.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "store/dcp/dcp_store.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::vector<Tensor> named(const std::vector<std::string>& names) {
  std::vector<Tensor> tensors;
  for (const std::string& name : names) tensors.push_back({name, number_type("f32").value(), {2}});
  return tensors;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("torch_dist names the optimizer's state by the weights") {
  CHECK(torch_dist_names(named(
            {"model/a.weight", "exp_avg/a.weight", "rng_state/0/torch", "model/a._extra_state", "exp_avg/b.weight"})) ==
        Names{"a.weight", "optimizer.state.exp_avg.a.weight", "", "", ""});
}

TEST_CASE("torch_dist names a norm by the matrix behind it, where that is of the same layer") {
  const std::string layer = "decoder.layers.3.";
  CHECK(
      torch_dist_names(named({"model/" + layer + "input_layernorm.weight", "param/" + layer + "input_layernorm.weight",
                              "model/" + layer + "self_attention.linear_qkv.weight"})) ==
      Names{layer + "self_attention.linear_qkv.layer_norm_weight",
            "optimizer.state.param." + layer + "self_attention.linear_qkv.layer_norm_weight",
            layer + "self_attention.linear_qkv.weight"});
  CHECK(torch_dist_names(
            named({"model/decoder.layers.0.pre_mlp_layernorm.bias", "model/decoder.layers.1.mlp.linear_fc1.weight"})) ==
        Names{"decoder.layers.0.pre_mlp_layernorm.bias", "decoder.layers.1.mlp.linear_fc1.weight"});
}

TEST_CASE("torch_dist has no names for experts, for numbers, and for other models") {
  const auto why = [](const std::vector<std::string>& names) {
    return refused([&] { torch_dist_names(named(names)); }, Kind::usage);
  };
  CHECK_THAT(why({"model/decoder.layers.0.mlp.experts.weight1"}), Contains("is of an expert"));
  CHECK_THAT(why({"model/a", "optimizer/optimizer/state/0/exp_avg"}), Contains("has a number for a name"));
  CHECK_THAT(why({"a", "b"}), Contains("no parameter model/"));
  CHECK_THAT(refused(
                 [] {
                   check_torch_dist_names(named({"a", "chained_0.optimizer.distributed.dp_group_idx_0"}));
                 },
                 Kind::usage),
             Contains("dp_reshardable"));
}

TEST_CASE("torch_dist is read as DCP") {
  const auto schema = std::make_shared<const Schema>([] {
    Schema made;
    made.format = "dcp";
    return made;
  }());
  const FileCatalog file{schema, 0, 0};
  CHECK(is_torch_dist(*torch_dist_store()));
  CHECK_FALSE(is_torch_dist(*dcp_store()));
  CHECK(has_form_of(file, *torch_dist_store()));
  CHECK(has_form_of(file, *dcp_store()));
}
