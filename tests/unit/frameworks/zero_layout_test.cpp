#include "frameworks/zero_layout.hpp"

#include "catch.hpp"
#include "frameworks/zero_groups.hpp"
#include "layout/language/layout.hpp"
#include "refused.hpp"
#include "unit/frameworks/zero_fixture.hpp"

using namespace ckpt;
using namespace ckpt::deepspeed;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const std::string root = "optimizer_state_dict/";
const std::string masters = root + "single_partition_of_fp32_groups/";
const std::string kept = root + "base_optimizer_state/state/";

/// A rank's file of ZeRO-1: slices of 36 and 4 elements, the last ones of master weights shorter.
Schema slice_of(std::uint64_t rank) {
  const bool is_last = rank == 3;
  Schema schema = schema_of({{masters + "0", {is_last ? 30U : 36U}},
                             {masters + "1",
                              {is_last     ? 0U
                               : rank == 2 ? 2U
                                           : 4U}},
                             {kept + "0/exp_avg", {36}},
                             {kept + "0/step", {}},
                             {kept + "1/exp_avg", {4}},
                             {kept + "1/step", {}}});
  schema.groups.push_back({"optimizer_state_dict", {{"partition_count", integers_value({4, 4})}}});
  return schema;
}

struct Files {
  std::vector<Schema> optimizers;
  Schema model = schema_of({{"module/emb.weight", {13, 6}}, {"mine/table", {3}}});

  TagSchemas schemas() const {
    TagSchemas all{&model, {}};
    for (const Schema& each : optimizers) all.optimizers.push_back(&each);
    return all;
  }
};

Files slices() {
  Files files;
  for (std::uint64_t rank = 0; rank < 4; ++rank) files.optimizers.push_back(slice_of(rank));
  return files;
}

Layout layout_of(const Files& files, bool is_of_pieces) {
  const std::string rank = is_of_pieces ? "zero_pp_rank_{dp}_" : "";
  const TagFiles names{"step2",
                       "step2/",
                       rank + "mp_rank_00_model_states.pt",
                       "zero_pp_rank_{dp}_mp_rank_00_optim_states.pt",
                       is_of_pieces,
                       4,
                       "",
                       1};
  return checked(zero_layout(names, small_model(), files.schemas()));
}

std::string why_not(const Files& files) {
  return refused([&] { zero_groups(small_model(), files.schemas().optimizers, false); });
}

}  // namespace

TEST_CASE("DeepSpeed's model states tell the parameters of each group in order") {
  const ModelStates states = small_model();
  CHECK(states.data_ranks == 4);
  REQUIRE(states.groups.size() == 2);
  REQUIRE(states.groups[0].size() == 2);
  CHECK(states.groups[0][1].name == "l1.weight");
  CHECK(states.groups[0][1].shape == Shape{10, 6});
  REQUIRE(states.frozen.size() == 1);
  CHECK(states.frozen[0].shape == Shape{7});
  REQUIRE(states.tied.size() == 1);
  CHECK(states.tied[0].to == "emb.weight");
  CHECK(states.buffers == std::vector<std::string>{"seen"});
}

TEST_CASE("Model states that do not say how ZeRO has cut them are refused") {
  const auto why = [](const Pairs& root_items) { return refused([&] { model_states(root_items); }); };
  const std::pair<std::string, std::string> ranks{"dp_world_size", integer(4)};
  const std::pair<std::string, std::string> alone{"mp_world_size", integer(1)};
  CHECK_THAT(why({alone}), Contains("dp_world_size: found no number of ranks"));
  CHECK_THAT(why({ranks, {"mp_world_size", integer(0)}}), Contains("mp_world_size: found no number of ranks"));
  CHECK_THAT(why({ranks, alone, {"param_shapes", integer(4)}}), Contains("param_shapes: found no list of shapes"));
  CHECK_THAT(why({ranks, alone, {"param_shapes", list({ordered({{"w", integer(3)}})})}}),
             Contains("param_shapes/0/w: found no shape"));
  CHECK_THAT(why({ranks, alone, {"param_shapes", list({ordered({{"w", size({-1})}})})}}), Contains("param_shapes/0/w"));
  CHECK_THAT(why({ranks, alone, {"param_shapes", list({list({integer(3)})})}}),
             Contains("param_shapes/0: found something else than a dict"));
  CHECK(why({ranks, alone, {"param_shapes", "N"}}).empty());
}

TEST_CASE("ZeRO-1 and 2 lay whole parameters end to end, the last master weights without their padding") {
  const Layout layout = layout_of(slices(), false);
  CHECK(layout.mesh.shape == std::vector<std::uint64_t>{4});
  CHECK(layout.files.paths(layout.mesh).front() == "step2/mp_rank_00_model_states.pt");
  REQUIRE(layout.buckets.size() == 4);
  CHECK(layout.buckets[0].name == "fp32/0");
  CHECK(layout.buckets[0].last_is_short);
  CHECK(layout.buckets[0].multiple_of_each == 2);
  CHECK(layout.buckets[0].members[1].name == "fp32/l1.weight");
  CHECK(layout.buckets[1].name == "exp_avg/0");
  CHECK_FALSE(layout.buckets[1].last_is_short);
  CHECK(layout.buckets[2].name == "fp32/1");
  CHECK(layout.buckets[2].last_is_short);
}

TEST_CASE("With the splits of the weights all of a model rank's files follows") {
  const Layout splits = parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [2]},
      "parameters": [{"name": "l1.*", "split": ["tp"]}, {"name": "emb.weight"}]})",
                                     "tp2.json");
  const ModuleLayout module = module_layout(splits);
  const Files files = slices();
  const TagFiles names{"step2", "step2/", "mp_rank_{tp:02}_model_states.pt", "x{dp}_{tp:02}.pt", false, 8, "tp", 2};
  const Layout layout = checked(zero_layout(names, small_model(), files.schemas(), &module));
  CHECK(layout.mesh.axes == std::vector<std::string>{"dp", "tp"});
  CHECK(layout.mesh.shape == std::vector<std::uint64_t>{4, 2});
  CHECK(layout.default_rule == Default::error);
  CHECK(layout.buckets[1].members[1].like == "l1.weight");
  const auto rule_of = [&](const std::string& name) -> const Rule* {
    for (const Rule& rule : layout.parameters)
      for (const Pattern& pattern : rule.names)
        if (pattern.matches(name)) return &rule;
    return nullptr;
  };
  REQUIRE(rule_of("l1.bias"));
  CHECK(rule_of("l1.bias")->keys.split);
  CHECK(rule_of("fp32/l1.bias")->equals);
  CHECK(rule_of("frozen_param_fragments/table[0]")->like);
  for (const char* name : {"step/0", "step/1", "model/mine/table"}) CHECK(rule_of(name) != nullptr);
  CHECK(rule_of("mine") == nullptr);
}

TEST_CASE("Where there is no padding to tell, master weights are as their optimizer saves them") {
  const auto is_short = [](bool says_stage) {
    Files files;
    const ModelStates states{{{{"w", {16}}}}, {}, {}, {}, 4, 1};
    for (int rank = 0; rank < 4; ++rank) files.optimizers.push_back(schema_of({{masters + "0", {4}}}));
    if (says_stage) files.optimizers[0].leaves.push_back({root + "zero_stage", "ZeroStageEnum", "", 0, true});
    return zero_groups(states, files.schemas().optimizers, false)[0].states[0].is_short;
  };
  CHECK(is_short(true));
  CHECK_FALSE(is_short(false));
}

TEST_CASE("ZeRO-3 lays the ranks' pieces of each parameter end to end, and cuts what is frozen") {
  Files files;
  const std::string states = root + "optimizer_state_dict/state/";
  files.optimizers.assign(4, schema_of({{root + "fp32_flat_groups/0", {35}},
                                        {root + "fp32_flat_groups/1", {3}},
                                        {states + "0/exp_avg", {35}},
                                        {states + "0/step", {}}}));
  const Layout layout = layout_of(files, true);
  REQUIRE(layout.buckets.size() == 3);
  CHECK(layout.buckets[0].members[0].name == "emb.weight");
  CHECK(layout.buckets[0].members[0].keys.flat);
  CHECK(layout.buckets[0].multiple_of_each == 1);
  CHECK(layout.buckets[1].members[0].name == "exp_avg/emb.weight");
  REQUIRE(layout.parameters.size() == 2);
  CHECK(layout.parameters[0].names.front().matches("table[0]"));
  CHECK(layout.parameters[0].keys.flat);
  CHECK(layout.parameters[1].names.front().matches("seen"));
}

TEST_CASE("What the names of the files say of ZeRO's stage is what they have to hold") {
  CHECK_THAT(refused([] { layout_of(slices(), true); }), Contains("fp32_flat_groups/: found no tensors in it"));
}

TEST_CASE("Gaps between parameters are those of an alignment") {
  const auto align = [](const Shape& gaps) {
    Files files = slices();
    for (Schema& each : files.optimizers)
      each.groups.push_back({root + "param_alignment_paddings", {{"0", integers_value(gaps)}}});
    return zero_groups(small_model(), files.schemas().optimizers, false)[0].align;
  };
  CHECK(align({0, 0}) == 1);
  CHECK(align({2, 0}) == 4);  // 78 elements, then 2 to the next multiple of 4
  CHECK_THAT(refused([&] { align({1, 0}); }), Contains("found other gaps"));
  CHECK_THAT(refused([&] { align({0}); }), Contains("found other gaps"));
}

TEST_CASE("Optimizer files that are not those of the groups are refused") {
  Files files;
  files.optimizers.assign(4, schema_of({{"state/x", {3}}}));
  CHECK_THAT(why_not(files), Contains("/optimizer_state_dict/single_partition_of_fp32_groups/: found no tensors"));
  files.optimizers.assign(4, schema_of({{masters + "0", {36}}}));
  CHECK_THAT(why_not(files), Contains("single_partition_of_fp32_groups/1: not found"));
  files = slices();
  files.optimizers[0] = schema_of({{masters + "0", {36}}, {masters + "1", {4}}, {kept + "0/row", {13, 2}}});
  CHECK_THAT(why_not(files), Contains("state/0/row: found [13, 2], expected one value, or [36]"));
  files = slices();
  files.optimizers[2].groups[0].attributes[0].value = integers_value({2, 2});
  CHECK_THAT(why_not(files), Contains("partition_count: found 2, expected 4"));
}
