#include "frameworks/torch_dist_tree.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "store/dcp/dcp_parts.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/pickle.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const std::string none = "N";

/// As a carried tree has a tensor.
std::string named_tensor(const std::string& name) {
  return tuple({text("tensor"), text(name)}) + "Q";
}

std::string legacy_tree(const std::string& model, const std::string& optimizer) {
  return pickle(dict({{"checkpoint_version", integer(3)},
                      {"iteration", integer(10)},
                      {"model", model},
                      {"optimizer", optimizer},
                      {"rng_state", named_tensor("rng_state")}}));
}

const std::string small_optimizer = dict({{"grad_scaler", named_tensor("optimizer/grad_scaler")}});

/// One rank alone.
torch_dist::CommonState rest_of(const std::string& tree, const torch_dist::SmallTensors& values,
                                const std::vector<std::string>& names) {
  const auto as_it_is = [](const std::string& name) { return name; };
  return torch_dist::common_state({{torch_dist::RankTree::Rank{}, tree, values, as_it_is}}, names);
}

/// A rank of two pipeline stages of one layer each, which count their layers each by itself.
torch_dist::RankTree stage(std::uint64_t tensor, std::uint64_t pipeline, const std::string& model) {
  return {torch_dist::RankTree::Rank{tensor, pipeline},
          legacy_tree(dict({{"decoder.layers.0.fc._extra_state", model}}), dict({})),
          {{"rng_state", {number_type("u8").value(), {2}, "ab"}}},
          [pipeline](const std::string& name) {
            std::string counted = name;
            return counted.replace(counted.find(".0.") + 1, 1, std::to_string(pipeline));
          }};
}

/// The names of the objects of a first file.
std::vector<std::string> objects_of(const torch_dist::CommonState& rest) {
  FileSpec spec;
  spec.tree = std::make_shared<const std::string>(rest.objects);
  std::vector<std::string> names;
  for (const auto& object : torch::dcp_parts(spec).objects) names.push_back(torch::dcp_name(object.path));
  return names;
}

}  // namespace

TEST_CASE("common.pt tells the form, and has neither weights nor generators") {
  const std::string tree = legacy_tree(dict({{"a.weight", named_tensor("model/a.weight")}}), small_optimizer);
  const torch_dist::SmallTensor scale{number_type("f32").value(), {1}, std::string("\0\0\0\x44", 4)};
  const auto rest = rest_of(tree, {{"optimizer/grad_scaler", scale}}, {"a.weight", "optimizer.state.param.a"});
  REQUIRE(rest.files.size() == 2);
  CHECK(rest.files[0].name == "common.pt");
  CHECK(rest.files[1].name == "metadata.json");
  for (const char* word : {"iteration", "fully_reshardable", "non_homogeneous_layers", "grad_scaler", "FloatStorage"})
    CHECK_THAT(rest.files[0].bytes, Contains(word));
  CHECK_THAT(rest.files[0].bytes, Contains(scale.bytes));
  for (const char* word : {"rng_state", "a.weight"}) CHECK_THAT(rest.files[0].bytes, !Contains(word));
}

TEST_CASE("common.pt of weights alone has no optimizer") {
  const auto rest = rest_of(legacy_tree(dict({}), small_optimizer), {}, {"a.weight"});
  CHECK_THAT(rest.files[0].bytes, !Contains("grad_scaler"));
}

TEST_CASE("what modules save besides weights is an object for each layer") {
  const std::string tree = legacy_tree(dict({{"decoder.layers.0.fc._extra_state", none},
                                             {"decoder.layers.0.attention._extra_state", integer(7)},
                                             {"output_layer._extra_state", none}}),
                                       dict({}));
  const auto rest =
      rest_of(tree, {},
              {"decoder.layers.0.fc.weight", "decoder.layers.1.fc.weight", "optimizer.state.m.decoder.layers.2.fc.w"});
  CHECK(objects_of(rest) == std::vector<std::string>{"decoder.layers.0.attention._extra_state/shard_0_1",
                                                     "decoder.layers.0.fc._extra_state/shard_0_1",
                                                     "decoder.layers.1.fc._extra_state/shard_0_1"});
}

TEST_CASE("a tree that Megatron has not made is refused") {
  CHECK_THAT(refused([] {
               rest_of(pickle(dict({{"epoch", integer(1)}})), {}, {"a"});
             }),
             Contains("no checkpoint_version"));
  CHECK_THAT(refused([] { rest_of(legacy_tree(dict({}), "]"), {}, {"optimizer.state.m.a"}); }),
             Contains("several optimizers"));
}

TEST_CASE("each stage tells of its own layers, and each rank of its generators") {
  const std::vector<std::string> names{"decoder.layers.0.fc.weight", "decoder.layers.1.fc.weight"};
  const auto of_all = torch_dist::common_state({stage(0, 0, integer(7)), stage(0, 1, integer(8))}, names);
  CHECK(objects_of(of_all) == std::vector<std::string>{"decoder.layers.0.fc._extra_state/shard_0_1",
                                                       "decoder.layers.1.fc._extra_state/shard_0_1",
                                                       "rng_state/shard_0.0_2.1", "rng_state/shard_1.0_2.1"});
  const auto one_is_missing =
      torch_dist::common_state({stage(0, 0, integer(7)), stage(1, 0, integer(9)), stage(0, 1, integer(8))}, names);
  CHECK(objects_of(one_is_missing).size() == 2);
  CHECK(torch_dist::rank_in_path("iter_10/mp_rank_03_001/model_optim_rng.pt")->tensor == 3);
  CHECK(torch_dist::rank_in_path("mp_rank_03_001/model_optim_rng.pt")->pipeline == 1);
  CHECK_FALSE(torch_dist::rank_in_path("mp_rank_03_001_002/model_optim_rng.pt"));
}

TEST_CASE("values go along, weights do not") {
  const std::string tree = legacy_tree(
      dict({{"a.weight", named_tensor("model/a.weight")}, {"a._extra_state", named_tensor("model/a._extra_state")}}),
      small_optimizer);
  CHECK(torch_dist::value_names(tree) ==
        std::set<std::string>{"model/a._extra_state", "optimizer/grad_scaler", "rng_state"});
}
