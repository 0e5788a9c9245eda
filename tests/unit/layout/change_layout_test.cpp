#include "layout/language/change_layout.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const char* const masters_and_moments = R"("buckets": [
    {"name": "f", "axis": "dp", "members": [{"name": "w", "shape": [4], "split": ["tp"]}, {"name": "b", "shape": [2]}]},
    {"name": "m", "axis": "dp", "members": [{"name": "m.w", "like": "w"}, {"name": "m.b", "like": "b"}]},
    {"name": "v", "axis": "dp", "members": [{"name": "v.w", "like": "m.w", "split": []}]}])";

Layout of_two_by_two() {
  return layout(R"(["dp", "tp"])", "[2, 2]", masters_and_moments);
}

std::vector<std::string> names(const Layout& layout) {
  std::vector<std::string> all;
  for (const Bucket& bucket : layout.buckets)
    for (const BucketMember& member : bucket.members) all.push_back(bucket.name + ": " + member.name);
  return all;
}

}  // namespace

TEST_CASE("parameters that are left out leave their buckets, and a bucket without any goes") {
  CHECK(names(without_members(of_two_by_two(), {"w", "v.w", "x"})) == Words{"f: b", "m: m.w", "m: m.b"});
  CHECK(names(without_members(of_two_by_two(), {"w", "b", "m.b"})) == Words{"m: m.w", "v: v.w"});
  CHECK(to_json(without_members(of_two_by_two(), {"x"})) == to_json(of_two_by_two()));
}

TEST_CASE("what members borrow from those that are left out goes over to them") {
  const Layout left = without_members(of_two_by_two(), {"w", "b", "m.w"});
  REQUIRE(names(left) == Words{"m: m.b", "v: v.w"});
  const BucketMember& moment = left.buckets[1].members[0];
  CHECK_FALSE(moment.like);
  CHECK(*moment.keys.shape == std::vector<std::uint64_t>{4});
  CHECK(moment.keys.split->empty());  // its own word stands
  CHECK(shown(target(left, {tensor("m.b", {2}), tensor("v.w", {4})}), "v") == Words{"0 1", "0 1", "2 3", "2 3"});
}

TEST_CASE("what members borrow in a circle is still a circle") {
  const Layout circle = layout(R"(["dp"])", "[1]", R"("buckets": [{"name": "f", "axis": "dp", "members": [
                               {"name": "a", "like": "b"}, {"name": "b", "like": "a"}, {"name": "c", "like": "a"}]}])");
  CHECK_THROWS_WITH(target(without_members(circle, {"a", "b"}), {tensor("c", {1})}), Contains("no rule matches"));
}

TEST_CASE("padding that may have followed the mesh is told of") {
  const auto of = [](const std::string& dp, const std::string& keys) {
    return layout(
        R"(["dp"])", "[" + dp + "]",
        R"("buckets": [{"name": "f", "axis": "dp", )" + keys + R"("members": [{"name": "a", "shape": [5]}]}])");
  };
  const auto warned = [&](const std::string& keys, std::uint64_t dp) {
    const Layout from = of("4", keys);
    return padding_warnings(from, on_mesh(from, {{"dp", dp}}, "a.json with --to-mesh"));
  };
  const auto warnings = warned(R"("multiple_of": 8, )", 5);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Contains(R"(a.json with --to-mesh: bucket "f": padded to a multiple of 8 for dp=5 as for dp=4)") &&
                 Contains(R"(say "multiple_of_each": 2 instead)"));
  CHECK(warned(R"("multiple_of": 8, )", 2).size() == 1);
  CHECK(warned(R"("multiple_of": 8, )", 4).empty());
  CHECK(warned(R"("multiple_of": 128, )", 5).empty());
  CHECK(warned(R"("multiple_of": 6, )", 5).empty());
  CHECK(warned(R"("multiple_of_each": 2, )", 5).empty());
  CHECK(warned("", 5).empty());
}
