#include "compare/replica_pattern.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

constexpr const char* axes = R"(["pp", "dp", "tp"])";
constexpr const char* shape = "[2, 2, 2]";

/// What each of eight cards holds, card by card.
std::vector<CardVersion> held(const std::vector<std::uint64_t>& versions) {
  std::vector<CardVersion> all;
  for (Position card = 0; card < versions.size(); ++card) all.push_back({card, versions[card]});
  return all;
}

IndexRule counting(const std::string& in, std::vector<Axis> over) {
  IndexRule rule;
  rule.in = Pattern(in, {"i"});
  rule.axes = std::move(over);
  rule.numbering = Numbering::local;
  return rule;
}

Mesh mesh() {
  return layout(axes, shape, R"("default": "replicate")").mesh;
}

/// A weight, a bias and a step, replicated by one rule.
Placement replicated() {
  return target(one_rule(axes, shape, ""),
                {tensor("layers.3.w", {4, 4}), tensor("bias", {4}), tensor("w", {4, 4}), tensor("step", {})});
}

ReplicaExplanation explained(const std::string& name, const std::vector<std::uint64_t>& versions,
                             bool most_elements_differ = true, const std::vector<IndexRule>& counts = {}) {
  const Placement placement = replicated();
  return explain_replicas(placement, placement.find(name).value(), held(versions), most_elements_differ, counts);
}

}  // namespace

TEST_CASE("the axes of a difference are those whose coordinate makes one") {
  using Axes = std::vector<Axis>;
  const auto stages = pattern_of(mesh(), held({0, 0, 0, 0, 1, 1, 1, 1}));
  CHECK(stages.axes == Axes{0});
  CHECK(stages.in_blocks);
  const auto shards = pattern_of(mesh(), held({0, 1, 0, 1, 2, 3, 2, 3}));
  CHECK(shards.axes == Axes{0, 2});
  CHECK(shards.in_blocks);
  CHECK_FALSE(shards.all_differ);
  const auto odd = pattern_of(mesh(), held({0, 0, 0, 0, 0, 1, 0, 0}));
  CHECK(odd.axes == Axes{0, 1, 2});
  CHECK_FALSE(odd.in_blocks);
  const auto random = pattern_of(mesh(), held({0, 1, 2, 3, 4, 5, 6, 7}));
  CHECK(random.in_blocks);
  CHECK(random.all_differ);
}

TEST_CASE("cards that differ in blocks lack a split, or a count where the name has a number") {
  const auto plain = explained("w", {0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(plain.over == " over tp");
  CHECK(plain.remedy == "is \"tp\" missing in \"split\" of rule \"*\" (a.json)?");
  CHECK(plain.advice.what == Advice::What::none);
  const std::vector<IndexRule> stages{counting("layers.{i}.*", {0})};
  const auto counted = explained("layers.3.w", {0, 0, 0, 0, 1, 1, 1, 1}, true, stages);
  CHECK(counted.over == " over pp");
  CHECK_THAT(counted.remedy,
             Contains("is \"pp\" missing in \"split\"") &&
                 Contains(R"("indices": [{"in": "layers.{i}.*", "axis": "pp", "numbering": "local"}])"));
  const std::vector<IndexRule> both{counting("layers.{i}.*", {0}), counting("*experts.{i}.*", {2})};
  CHECK_THAT(explained("layers.3.w", {0, 1, 0, 1, 2, 3, 2, 3}, true, both).remedy,
             Contains(R"(what "pp", "tp" spreads? Then say "indices": [{"in": "layers.{i}.*", "axis": "pp", )"
                      R"("numbering": "local"}, {"in": "*experts.{i}.*", "axis": "tp", "numbering": "local"}])"));
}

TEST_CASE("of a bucket's member that differs, the order of the members is asked for first") {
  const Placement placement = target(layout(axes, shape, R"("buckets": [{"name": "f", "axis": "dp", "members": [
                                                {"name": "v", "shape": [4, 4]}, {"name": "w", "shape": [4, 4]}]}])"),
                                     {tensor("v", {4, 4}), tensor("w", {4, 4})});
  CHECK(explain_replicas(placement, 1, held({0, 1, 0, 1, 0, 1, 0, 1}), true, {}).remedy ==
        "do the members of bucket \"f\" stand in another order in the files (a.json)? Else is \"tp\" missing in "
        "\"split\" of that member of bucket \"f\" (a.json)?");
}

TEST_CASE("to take the first copy is offered last, and of a matrix only where every card holds something else") {
  const std::string first = "say \"replicas\": \"first\"";
  CHECK_THAT(explained("w", {0, 0, 0, 0, 1, 1, 1, 1}).remedy, !Contains(first));
  CHECK_THAT(explained("w", {0, 0, 0, 0, 0, 1, 0, 0}).remedy, !Contains(first) && Contains("drifted apart"));
  CHECK_THAT(explained("w", {0, 0, 0, 0, 1, 1, 1, 1}, false).remedy, !Contains(first) && Contains("drifted apart"));
  CHECK_THAT(explained("w", {0, 1, 2, 3, 4, 5, 6, 7}).remedy, Contains("missing in \"split\"") && Contains(first));
  CHECK_THAT(explained("bias", {0, 0, 0, 0, 1, 1, 1, 1}).remedy, Contains("missing in \"split\"") && Contains(first));
  const auto step = explained("step", {0, 0, 0, 0, 1, 1, 1, 1});
  CHECK_THAT(step.remedy, !Contains("split") && Contains(first));
  CHECK(step.advice.what == Advice::What::trust_replicas);
}

TEST_CASE("a bucket's member is never said to take `replicas`, which it cannot") {
  const Placement placement = target(layout(axes, shape, R"("buckets": [{"name": "f", "axis": "dp", "members": [
                                                {"name": "b", "shape": [4]}, {"name": "w", "shape": [4, 4]}]}])"),
                                     {tensor("b", {4}), tensor("w", {4, 4})});
  const std::string order = "do the members of bucket \"f\" stand in another order in the files (a.json)? Else ";
  const auto drifted = explain_replicas(placement, 0, held({0, 0, 0, 0, 0, 1, 0, 0}), true, {});
  CHECK(drifted.remedy == order + "have they drifted apart, or is a file damaged?");
  const auto in_blocks = explain_replicas(placement, 0, held({0, 1, 0, 1, 0, 1, 0, 1}), true, {});
  CHECK(in_blocks.remedy == order + "is \"tp\" missing in \"split\" of that member of bucket \"f\" (a.json)?");
  CHECK(in_blocks.advice.what == Advice::What::none);
}

TEST_CASE("a name that an entry of `indices` leaves out is said to be counted, not to take the first copy") {
  const auto wider = [](const std::string& in, const std::string& name, const std::vector<Axis>& differing) {
    return wider_entry(
        layout(axes, shape,
               R"("default": "replicate", "indices": [{"in": ")" + in + R"(", "axis": "pp", "numbering": "local"}])"),
        name, differing);
  };
  CHECK(wider("layers.{i}.attn.*", "layers.0.norm", {0}) ==
        R"(is "in" of /indices/0, "layers.{i}.attn.*", too narrow? Then say "layers.{i}.*" (a.json))");
  CHECK_THAT(wider("layers.{i}.attn.*", "m.layers.0.norm", {0}), Contains(R"(Then say "*layers.{i}.*")"));
  CHECK(wider("layers.{i}.attn.*", "layers.0.norm", {1, 2}).empty());
  CHECK(wider("layers.{i}.attn.*", "layers.0.attn.w", {0}).empty());
  CHECK(wider("layers.{i}.attn.*", "norm", {0}).empty());
  CHECK(wider("layers.{i}.attn.*", "rng.0", {0}).empty());

  const Placement placement =
      target(layout(axes, shape, R"("default": "replicate", "indices": [
                                         {"in": "layers.{i}.attn.*", "axis": "pp", "total": 2, "numbering": "local"}])"),
             {tensor("layers.0.attn.w", {4}), tensor("layers.0.norm", {4}), tensor("layers.1.attn.w", {4})});
  const auto norm = explain_replicas(placement, 1, held({0, 0, 0, 0, 1, 1, 1, 1}), true, {});
  CHECK_THAT(norm.remedy, Contains("too narrow") && !Contains("first"));
  CHECK(norm.advice.what == Advice::What::none);
}
