#include "unit/layout/refused_layout.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Numbers = std::vector<std::uint64_t>;

namespace {

/// A bucket over dp with these keys.
std::string bucket(const std::string& keys) {
  return with(R"("buckets": [{"axis": "dp", )" + keys + "}]");
}

std::string members(const std::string& keys) {
  return bucket(R"("name": ["m", "v"], "members": {)" + keys + "}");
}

std::vector<Bucket> buckets_of(const std::string& text) {
  return parse_layout(text, "a.json").buckets;
}

}  // namespace

TEST_CASE("a bucket of several names is one bucket for each, with members named for it") {
  const auto buckets = buckets_of(bucket(R"("name": ["m", "v"], "multiple_of_each": 2, "members": [
                             {"name": "{bucket}.w", "like": "w"}, {"name": "{bucket}/b", "shape": [3], "like": "{bucket}.w"}])"));
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].name == "m");
  CHECK(buckets[1].name == "v");
  CHECK(buckets[1].multiple_of_each == 2);
  REQUIRE(buckets[1].members.size() == 2);
  CHECK(buckets[1].members[0].name == "v.w");
  CHECK(*buckets[1].members[0].like == "w");
  CHECK_FALSE(buckets[1].members[0].keys.shape);
  CHECK(buckets[1].members[1].name == "v/b");
  CHECK(*buckets[1].members[1].like == "v.w");
  CHECK(*buckets[1].members[1].keys.shape == Numbers{3});
}

TEST_CASE("in a bucket of one name, braces are part of a member's name") {
  CHECK(buckets_of(bucket(R"("name": "f", "members": [{"name": "{bucket}", "shape": [1]}])"))[0].members[0].name ==
        "{bucket}");
}

TEST_CASE("members as an object: one for each of params, in their order") {
  const auto buckets =
      buckets_of(members(R"("as": "{bucket}.{param}", "like": "{param}", "params": ["w", "a[0].b", "b"],
                                             "shapes": {"a*": [4, 2], "b": [7]})"));
  REQUIRE(buckets.size() == 2);
  REQUIRE(buckets[0].members.size() == 3);
  CHECK(buckets[0].members[0].name == "m.w");
  CHECK(*buckets[0].members[0].like == "w");
  CHECK_FALSE(buckets[0].members[0].keys.shape);
  CHECK(buckets[0].members[1].name == "m.a[0].b");
  CHECK(*buckets[0].members[1].keys.shape == Numbers{4, 2});
  CHECK(buckets[1].members[2].name == "v.b");
  CHECK(*buckets[1].members[2].keys.shape == Numbers{7});
}

TEST_CASE("as may be a list, one for each name of the bucket") {
  const auto buckets =
      buckets_of(members(R"("as": ["{param}", "second.{param}"], "params": ["w"], "shapes": {"*": [2]})"));
  CHECK(buckets[0].members[0].name == "w");
  CHECK(buckets[1].members[0].name == "second.w");
  CHECK_FALSE(buckets[0].members[0].like);
}

TEST_CASE("in shapes a name goes before the patterns") {
  const auto buckets =
      buckets_of(members(R"("as": "{bucket}.{param}", "params": ["w1", "w2"], "shapes": {"w*": [2], "w2": [3]})"));
  CHECK(*buckets[0].members[0].keys.shape == Numbers{2});
  CHECK(*buckets[0].members[1].keys.shape == Numbers{3});
}

TEST_CASE("a member's flat is cut over the bucket's axis") {
  const auto buckets = buckets_of(
      bucket(R"("name": "f", "last": "short", "members": [{"name": "w", "shape": [4], "flat": {"axis": "dp"}}])"));
  CHECK(buckets[0].last_is_short);
  REQUIRE(buckets[0].members[0].keys.flat);
  CHECK(buckets[0].members[0].keys.flat->axis == 0);
}

TEST_CASE("what buckets say comes back from their canonical text") {
  const std::string text =
      bucket(R"("name": ["m", "v"], "align": 4, "multiple_of_each": 2, "last": "short", "at": {"tp": 1},
      "members": {"as": "{bucket}.{param}", "like": "{param}", "params": ["w", "b"], "shapes": {"b": [3]}})");
  const std::string canonical = to_json(parse_layout(text, "a.json"));
  CHECK(canonical.find(
            R"({"name": "v", "axis": "dp", "align": 4, "multiple_of_each": 2, "last": "short", "at": {"tp": 1}, )"
            R"("members": [{"name": "v.w", "like": "w"}, {"name": "v.b", "like": "b", "shape": [3]}]})") !=
        std::string::npos);
  CHECK(to_json(parse_layout(canonical, "a.json")) == canonical);
}

TEST_CASE("refused: names and padding of buckets") {
  const std::string w = R"("members": [{"name": "w", "shape": [4]}])";
  check_refused({
      {bucket(R"("name": [], )" + w), "a.json: /buckets/0/name: found [], expected a name, or a list of names"},
      {bucket(R"("name": ["a", "a"], )" + w), R"(a.json: /buckets/0/name/1: found "a" a second time)"},
      {bucket(R"("name": ["a", 1], )" + w), "a.json: /buckets/0/name/1: found 1, expected a string"},
      {bucket(R"("name": ["a", "b"], )" + w),
       R"(a.json: /buckets/0/members/0/name: found "w", the same in each of several buckets, expected "{bucket}" in it)"},
      {bucket(R"("name": "a", "multiple_of_each": 0, )" + w), "a.json: /buckets/0/multiple_of_each: found 0"},
      {bucket(R"("name": "a", "multiple_of_each": 9223372036854775808, )" + w),
       R"(a.json: /buckets/0/members: found a "multiple_of" whose product)"},
      {bucket(R"("name": "a", "last": "full", )" + w),
       R"(a.json: /buckets/0/last: found "full", expected one of "short")"},
      {bucket(R"("name": "a", "members": [{"name": "w", "like": "w"}])"),
       R"(a.json: /buckets/0/members/0/like: found "w", the member's own name)"},
      {bucket(R"("name": "a", "members": 1)"), "a.json: /buckets/0/members: found 1, expected a list of members"},
  });
}

TEST_CASE("refused: members as an object") {
  check_refused({
      {members(R"("as": "{bucket}.{param}")"), R"(a.json: /buckets/0/members: found no key "params")"},
      {members(R"("as": "{bucket}.{param}", "params": [], "like": "{param}")"),
       "a.json: /buckets/0/members/params: found [], expected one member"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"])"),
       R"(a.json: /buckets/0/members/params/0: found no shape of "w", expected it in "shapes")"},
      {members(R"("as": "{bucket}", "params": ["w"], "like": "{param}")"),
       R"(a.json: /buckets/0/members/as: found "{bucket}", expected a template with "{param}" in it)"},
      {members(R"("as": "opt.{param}", "params": ["w"], "like": "{param}")"),
       R"(a.json: /buckets/0/members/as: found "opt.{param}", the same in each of several buckets)"},
      {members(R"("as": "{buckets}.{bucket}.{param}", "params": ["w"], "like": "{param}")"),
       R"(a.json: /buckets/0/members/as: found "{buckets}.{bucket}.{param}", expected no other braces)"},
      {members(R"("as": ["{param}"], "params": ["w"], "like": "{param}")"),
       "a.json: /buckets/0/members/as: found 1 templates, expected 2, one for each"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "like": "w")"),
       R"(a.json: /buckets/0/members/like: found "w", expected a template with "{param}" in it)"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "like": "{bucket}.{param}")"),
       R"(a.json: /buckets/0/members/like: found "m.w", the member's own name)"},
      {members(R"("as": "{bucket}.{param}", "params": ["w", "w"], "like": "{param}")"),
       R"(a.json: /buckets/0/members/params/1: found the member "m.w" a second time)"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "like": "{param}", "split": ["tp"])"),
       R"(a.json: /buckets/0/members/split: found the unknown key "split")"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "shapes": {"w": [1], "v*": [2]})"),
       R"(a.json: /buckets/0/members/shapes/v*: found "v*", which none of "params" matches)"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "shapes": {"w*": [1], "*w": [1]})"),
       R"(a.json: /buckets/0/members/params/0: found two keys of "shapes" for "w": "*w" and "w*")"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "shapes": {"{x}": [1]})"),
       R"(a.json: /buckets/0/members/shapes/{x}: found captures in "{x}")"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "shapes": {"w": [-1]})"),
       "a.json: /buckets/0/members/shapes/w/0: found -1"},
      {members(R"("as": "{bucket}.{param}", "params": ["w"], "shapes": {"[": [1]})"),
       "a.json: /buckets/0/members/shapes/[: "},
  });
}

TEST_CASE("several names do not multiply into more members than memory holds") {
  std::string names = "[";
  std::string params = "[";
  for (int i = 0; i < 4096; ++i) names += (i == 0 ? "\"n" : ", \"n") + std::to_string(i) + "\"";
  for (int i = 0; i < 2049; ++i) params += (i == 0 ? "\"p" : ", \"p") + std::to_string(i) + "\"";
  check_refused({{bucket(R"("name": )" + names +
                         R"(], "members": {"as": "{bucket}{param}", "like": "{param}", "params": )" + params + "]}"),
                  "a.json: /buckets/0/members: found more than 8388608 members in all buckets"}});
}
