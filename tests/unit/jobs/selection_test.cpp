#include "jobs/types/selection.hpp"

#include "catch.hpp"
#include "jobs/types/name_mapping.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

Placement some() {
  return target(single_card(), {tensor("m.w", {2}), tensor("m.b", {1}), tensor("w", {2}), tensor("b", {1})});
}

Words names(const Selection& selection) {
  Words names;
  for (const Tensor& each : selection.tensors) names.push_back(each.name);
  return names;
}

}  // namespace

TEST_CASE("only and drop choose by logical name") {
  NameChoice job;
  CHECK(names(select(job, some())) == Words{"b", "m.b", "m.w", "w"});
  job.drop = {Pattern("m.*")};
  CHECK(names(select(job, some())) == Words{"b", "w"});
  job.only = {Pattern("w"), Pattern("m.w")};
  CHECK(names(select(job, some())) == Words{"w"});
  CHECK_FALSE(NameFilter(job).is_kept("m.w"));
  job.only = {Pattern("nothing")};
  CHECK_THROWS_WITH(select(job, some()), Contains("no parameter is left"));
}

TEST_CASE("rename takes the first that fits and keeps the order of names") {
  NameChoice job;
  job.rename = {{Pattern("m.{x}"), Pattern("z.moment/{x}")}, {Pattern("{x}"), Pattern("model.{x}")}};
  const Placement placement = some();
  const Selection selection = select(job, placement);
  CHECK(names(selection) == Words{"model.b", "model.w", "z.moment/b", "z.moment/w"});
  for (std::size_t i = 0; i < selection.tensors.size(); ++i) {
    const Tensor& from = placement.tensors()[selection.source_of[i]];
    CHECK(from.shape == selection.tensors[i].shape);
    CHECK(from.name.str().back() == selection.tensors[i].name.str().back());
  }
  job.rename = {{Pattern("m.{x}"), Pattern("{x}")}};
  CHECK_THROWS_WITH(select(job, placement), Contains("'b' and 'm.b' both become 'b'"));
}

TEST_CASE("of two parameters that get one name, the one without a rule is to be renamed") {
  const auto advised = [](std::vector<Rename> rename) {
    NameChoice job;
    job.rename = std::move(rename);
    try {
      select(job, some());
    } catch (const Error& error) {
      CHECK(error.text().advice.what == Advice::What::rename);
      return error.text().advice.detail;
    }
    return std::string("no error");
  };
  CHECK(advised({{Pattern("m.{x}"), Pattern("{x}")}}) == "b");
  CHECK(advised({{Pattern("b"), Pattern("m.b")}}) == "m.b");
  CHECK(advised({{Pattern("{x}b"), Pattern("a")}}) == "m.b");
}

TEST_CASE("renames that only take text out apply one after the other") {
  NameChoice job;
  const auto new_name = [&](const std::string& name) { return NameFilter(job).new_name(name); };
  job.rename = {{Pattern("{a}_orig_mod.{b}"), Pattern("{a}{b}")}, {Pattern("{a}_inner.{b}"), Pattern("{a}{b}")}};
  CHECK(new_name("_orig_mod.layers.0._inner.mlp._inner._orig_mod.w") == "layers.0.mlp.w");
  CHECK(new_name("layers.0._inner.w") == "layers.0.w");
  std::swap(job.rename[0], job.rename[1]);
  CHECK(new_name("_orig_mod.layers.0._inner.w") == "layers.0.w");
  job.rename.insert(job.rename.begin(), {Pattern("module.{x}"), Pattern("{x}")});
  CHECK(new_name("module.module._orig_mod.w") == "module.w");
  // What names are changed into otherwise ends the search, as it may mean an exception from those behind it.
  job.rename = {{Pattern("model.vision.{x}"), Pattern("model.sight.{x}")}, {Pattern("model.{x}"), Pattern("{x}")}};
  CHECK(new_name("model.vision.w") == "model.sight.w");
  CHECK(new_name("model.w") == "w");
  job.rename = {{Pattern("model.{x}"), Pattern("{x}")}, {Pattern("{x}"), Pattern("net.{x}")}};
  CHECK(new_name("model.w") == "w");
  CHECK(new_name("head.w") == "net.head.w");
  job.rename = {{Pattern("a"), Pattern("b")}, {Pattern("b"), Pattern("a")}};
  CHECK(new_name("a") == "b");
  CHECK(new_name("b") == "a");
}

TEST_CASE("the target's layout is the one chosen") {
  const Layout source = layout(R"(["dp", "tp"])", "[2, 4]", R"("default": "replicate")");
  TargetChoice job;
  job.mesh = {{"tp", 3}};
  CHECK(target_layout(job, source).mesh.shape == std::vector<std::uint64_t>{2, 3});
  job = {};
  job.cards = 7;
  CHECK_THROWS_WITH(target_layout(job, source), Contains("2 axes (dp, tp)"));
  job.cards = 6;
  try {
    target_layout(job, source);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.text().advice.detail == "dp=1,tp=6 or dp=2,tp=3 or dp=3,tp=2 or dp=6,tp=1");
  }
  job.cards = 7;
  CHECK(target_layout(job, one_rule(R"(["x"])", "[2]", "")).mesh.shape == std::vector<std::uint64_t>{7});
}

TEST_CASE("rules that do not say how they cut what does not divide take the job's word") {
  const Layout source = layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "a", "split": ["tp"]},
      {"name": "b", "split": ["tp"], "uneven": "balanced"}, {"name": "c"},
      {"name": "d", "split": ["tp"], "pad": {"0": {"size": 5, "multiple_of": 4}}}])");
  TargetChoice job;
  job.cards = 3;
  job.uneven = Uneven::ceil;
  const Layout target = target_layout(job, source);
  CHECK(target.parameters[0].keys.uneven == Uneven::ceil);
  CHECK(target.parameters[1].keys.uneven == Uneven::balanced);
  CHECK_FALSE(target.parameters[2].keys.uneven);
  CHECK_FALSE(target.parameters[3].keys.uneven);
}

TEST_CASE("what a job leaves out leaves the target's buckets, under its new name") {
  const Layout layout_of_all = layout(R"(["dp"])", "[2]", R"("parameters": [{"name": "*"}], "buckets": [
      {"name": "f", "axis": "dp", "members": [{"name": "z.b", "shape": [1]}, {"name": "z.w", "shape": [2]}]}])");
  NameChoice job;
  job.drop = {Pattern("m.w")};
  job.rename = {{Pattern("m.{x}"), Pattern("z.{x}")}};
  const Resolved all{some(), {}, {}};
  const Layout left = without_left_out(job, all, select(job, all.placement), layout_of_all);
  REQUIRE(left.buckets.size() == 1);
  REQUIRE(left.buckets[0].members.size() == 1);
  CHECK(left.buckets[0].members[0].name == "z.b");
  // The same where the source has not resolved what is dropped, and none where nothing is.
  const Resolved few{target(single_card(), {tensor("m.b", {1}), tensor("w", {2})}), {}, {"m.w"}};
  CHECK(to_json(without_left_out(job, few, select(job, few.placement), layout_of_all)) == to_json(left));
  job.drop.clear();
  CHECK(to_json(without_left_out(job, all, select(job, all.placement), layout_of_all)) == to_json(layout_of_all));
}

TEST_CASE("among several maps the one that knows the names counts, also for those of the output's system in memory") {
  const auto sized = [](const std::string& rest) {
    auto map = std::make_unique<SizedMap>(
        parse_name_map(R"({"ckpt_names": 1, "sizes": {"f": 2, "h": 3}, )" + rest + "}", "map.json", {}), ModelConfig(),
        std::map<std::string, std::uint64_t>());
    map->to = map->map.side("hf");
    return map;
  };
  std::vector<std::unique_ptr<SizedMap>> maps;
  maps.push_back(sized(R"("sides": ["trainer", "hf"], "tensors": [{"trainer": "ln", "hf": "norm"},
    {"trainer": "fc1 [(f | f), h]", "hf": ["gate [f, h]", "up [f, h]"]}])"));
  maps.push_back(sized(R"("sides": ["memory", "hf"], "tensors": [{"memory": "norm", "hf": "norm"},
    {"memory": "gate_up [(f | f), h]", "hf": ["gate [f, h]", "up [f, h]"]}])"));
  const NameMapping mapping(std::move(maps), {});
  const auto made = [&](const std::vector<Tensor>& tensors) {
    MapSource source;
    for (const Tensor& each : tensors) source.tensors.emplace_back(each, source.tensors.size());
    Words names;
    for (const Tensor& each : mapping.convert(source).tensors) names.push_back(each.name);
    return names;
  };
  const Words model{"gate", "norm", "up"};
  CHECK(made({tensor("gate_up", {4, 3}), tensor("norm", {3})}) == model);
  CHECK(made({tensor("fc1", {4, 3}), tensor("ln", {3})}) == model);
  CHECK(made({tensor("gate", {2, 3}), tensor("norm", {3}), tensor("up", {2, 3})}) == model);
}
