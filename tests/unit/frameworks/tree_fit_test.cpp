#include "frameworks/tree_fit.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/frameworks/zero_fixture.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const std::string root = "optimizer_state_dict/";

/// What a tree says, without classes: {"a": [1, 2]}.
std::string said(const torch::Pickle& tree, torch::PickleId id) {
  const torch::PickleNode& node = tree[id];
  const auto items = [&](char open, char close) {
    std::string all(1, open);
    for (std::size_t i = 0; i < node.items.size(); ++i)
      all += (i == 0 ? "" : node.has_pairs && i % 2 == 1 ? ": " : ", ") + said(tree, node.items[i]);
    return all + close;
  };
  switch (node.kind) {
    case torch::PickleKind::integer:
      return std::to_string(node.number);
    case torch::PickleKind::text:
      return std::string(node.text);
    case torch::PickleKind::list:
      return items('[', ']');
    case torch::PickleKind::dict:
      return items('{', '}');
    case torch::PickleKind::call:
      return node.state == torch::no_node ? items('{', '}') : std::string(tree.name_of(id)) + said(tree, node.state);
    default:
      return "?";
  }
}

std::string said(const std::string& bytes) {
  std::size_t at = 0;
  const auto tree = torch::Pickle::read(bytes, at).value();
  return said(tree, tree.root());
}

const std::string files = R"("files": [{"path": "step2/mp_rank_00_model_states.pt", "prefix": "m/"},
    {"path": "step2/bf16_zero_pp_rank_{dp}_mp_rank_00_optim_states.pt", "prefix": "o/"}])";

/// One group of a [5] and b [8], on so many ranks.
Placement slices(const std::string& ranks) {
  return target(layout(R"(["dp"])", "[" + ranks + "]",
                       files + R"(, "rename": [{"stored": "o/)" + root +
                           R"(single_partition_of_fp32_groups/0", "name": "fp32/0"},
                        {"stored": "m/module/{x}", "name": "{x}"}],
          "default": "replicate",
          "buckets": [{"name": "fp32/0", "axis": "dp", "multiple_of_each": 2, "last": "short",
                       "members": [{"name": "fp32/a", "shape": [5]}, {"name": "fp32/b", "shape": [8]}]}])"),
                {tensor("fp32/a", {5}), tensor("fp32/b", {8}), tensor("a", {5})});
}

std::string optimizer_tree(const std::string& stage) {
  const std::string address = global("deepspeed.utils.tensor_fragment", "fragment_address") + ")\x81" +
                              dict({{"numel", integer(1)}, {"start", integer(0)}}) + "b";
  return pickle(dict({{"optimizer_state_dict", dict({{"partition_count", list({integer(2)})},
                                                     {"group_paddings", list({integer(9)})},
                                                     {"zero_stage", stage},
                                                     {"param_slice_mappings", list({ordered({{"a", address}})})},
                                                     {"overflow", integer(0)}})}}));
}

/// The optimizer's file of a rank, whose mappings list these parameters.
Schema with_mappings(const std::vector<std::string>& names) {
  Schema schema;
  for (const std::string& name : names)
    schema.leaves.push_back({root + "param_slice_mappings/0/" + name, "fragment_address", "", 0, true});
  return schema;
}

const std::string of_rank_0 = "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";

}  // namespace

TEST_CASE("Model states say the new number of ranks, an optimizer's file what its rank has") {
  const Placement placement = slices("4");  // 4, 4, 4 and 1 of 13
  const TreeFit fit(placement, {});
  const std::string model = pickle(dict({{"dp_world_size", integer(2)}, {"epoch", integer(3)}}));
  CHECK(said(fit.fitted(0, model).value()) == "{dp_world_size: 4, epoch: 3}");
  const std::string tree = optimizer_tree(integer(1));
  const auto state = [&](FileNumber file, const std::string& of) { return said(fit.fitted(file, of).value()); };
  const std::string address = "deepspeed.utils.tensor_fragment.fragment_address";
  CHECK(state(1, tree) ==
        "{optimizer_state_dict: {partition_count: [4], group_paddings: [0], zero_stage: 1, "
        "param_slice_mappings: [{a: " +
            address + "{numel: 4, start: 0}}], overflow: 0}}");
  CHECK_THAT(state(2, tree),
             Contains("[{a: " + address + "{numel: 1, start: 0}, b: " + address + "{numel: 3, start: 1}}]"));
  CHECK_THAT(state(4, tree), Contains("group_paddings: [3]"));
  CHECK_THAT(state(4, tree), Contains("[{b: " + address + "{numel: 1, start: 0}}]"));
}

TEST_CASE("Model states of each model rank say its shapes") {
  const Placement placement =
      target(layout(R"(["dp", "tp"])", "[1, 2]",
                    R"("files": [{"path": "step2/mp_rank_{tp:02}_model_states.pt", "prefix": "m/"},
                          {"path": "step2/zero_pp_rank_{dp}_mp_rank_{tp:02}_optim_states.pt", "prefix": "o/"}],
                "parameters": [{"name": "m/module/a", "split": ["tp"], "uneven": "ceil"}], "default": "replicate")"),
             {tensor("m/module/a", {5, 2}), tensor("m/module/b", {3}), tensor("o/x", {2})});
  const std::string tree =
      pickle(dict({{"dp_world_size", integer(2)},
                   {"mp_world_size", integer(1)},
                   {"param_shapes", list({ordered({{"a", size({5, 2})}, {"b", size({3})}, {"gone", size({7})}})})}}));
  const TreeFit fit(placement, {});
  const auto shapes = [&](FileNumber file) {
    const std::string bytes = fit.fitted(file, tree).value();
    CHECK_THAT(said(bytes), Contains("dp_world_size: 1, mp_world_size: 2"));
    std::size_t at = 0;
    const auto found = torch::Pickle::read(bytes, at).value();
    return deepspeed::model_states(found).groups.at(0);
  };
  CHECK(shapes(0)[0].shape == Shape{3, 2});
  CHECK(shapes(1)[0].shape == Shape{2, 2});
  CHECK(shapes(1)[1].shape == Shape{3});
  CHECK(shapes(1)[2].shape == Shape{7});  // not in the output
}

TEST_CASE("Ranks that have padding only say so, but to BF16_Optimizer the last one says it all") {
  const Placement placement = slices("7");  // 2 each, the last without a parameter
  const TreeFit fit(placement, {});
  CHECK_THAT(said(fit.fitted(7, optimizer_tree(integer(1))).value()), Contains("group_paddings: [1]"));
  const Placement ten = slices("10");  // 2 each: the seventh has one, three have none
  const TreeFit of_ten(ten, {});
  const auto padding = [&](FileNumber file, const std::string& stage) {
    const std::string all = said(of_ten.fitted(file, optimizer_tree(stage)).value());
    return all.substr(all.find("group_paddings"), 19);
  };
  CHECK(padding(7, integer(1)) == "group_paddings: [1]");
  CHECK(padding(8, integer(1)) == "group_paddings: [2]");
  CHECK(padding(10, integer(1)) == "group_paddings: [2]");
  CHECK(padding(8, "N") == "group_paddings: [0]");
  CHECK(padding(10, "N") == "group_paddings: [7]");
}

TEST_CASE("Trees of other files stay as they are") {
  const Placement placement = target(one_rule(R"(["dp"])", "[2]", ""), {tensor("a", {4})});
  CHECK_FALSE(TreeFit(placement, {}).fitted(0, pickle(dict({{"dp_world_size", integer(2)}}))));
  CHECK_FALSE(latest_sidecar(placement.layout()));
}

TEST_CASE("The text that names a tag lies beside its folder") {
  const auto sidecars = latest_sidecar(slices("2").layout());
  REQUIRE(sidecars);
  CHECK(sidecars->name == "latest");
  CHECK(sidecars->bytes == "step2");
  CHECK_FALSE(latest_sidecar(layout(R"(["dp"])", "[1]", R"("files": "mp_rank_00_model_states.pt")")));
}

TEST_CASE("An order of parameters that follows the number of ranks is that of no other number") {
  const Placement four = slices("4");
  const Schema in_order = with_mappings({"a", "b"});
  const Schema turned = with_mappings({"b", "a"});
  CHECK_NOTHROW(TreeFit(four, {{of_rank_0, &in_order}}));
  CHECK_THAT(refused([&] { TreeFit(four, {{of_rank_0, &turned}}); }), Contains("round_robin_gradients"));
  const Placement same = slices("1");
  CHECK_NOTHROW(TreeFit(same, {{of_rank_0, &turned}}));  // nothing changes
}

TEST_CASE("Groups by size are those of another sub_group_size, or of none") {
  const auto of = [](std::uint64_t first) {
    return target(layout(R"(["dp"])", "[2]",
                         R"("files": "step2/zero_pp_rank_{dp}_mp_rank_00_optim_states.pt",
            "rename": [{"stored": ")" +
                             root + R"(fp32_flat_groups/{g}", "name": "fp32/{g}"}],
            "buckets": [{"name": "fp32/0", "axis": "dp", "members": [{"name": "a", "shape": [)" +
                             std::to_string(first) + R"(], "flat": {"axis": "dp"}}]}, {"name": "fp32/1", "axis": "dp",
                         "members": [{"name": "b", "shape": [100], "flat": {"axis": "dp"}}, {"name": "c", "shape": [2], "flat": {"axis": "dp"}}]}])"),
                  {tensor("a", {first}), tensor("b", {100}), tensor("c", {2})});
  };
  const std::string tree =
      pickle(dict({{"optimizer_state_dict",
                    dict({{"partition_count", integer(4)},
                          {"optimizer_state_dict",
                           dict({{"param_groups", list({dict({{"params", list({integer(0), integer(1)})}})})}})}})}}));
  const Placement fits = of(300);  // 150 of a rank's, then 50 and 1
  CHECK_THAT(said(TreeFit(fits, {}).fitted(0, tree).value()), Contains("partition_count: 2"));
  const Placement never = of(40);  // 20 end the first group, and 50 do not end the second one
  CHECK_THAT(refused([&] { TreeFit(never, {}).fitted(0, tree); }), Contains("does not make on 2 ranks"));
}
