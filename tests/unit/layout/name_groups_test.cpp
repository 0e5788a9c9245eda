#include "layout/names/name_groups.hpp"

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("names that differ in numbers only are one group, in which shared numbers stay") {
  const auto groups = group_names({"layers.0.w1", "bias", "layers.10.w1", "layers.0.w2", "layers.3.w1", "7"});
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].pattern == "layers.*.w*");
  CHECK(groups[0].names.size() == 4);
  CHECK(groups[1].pattern == "bias");
  CHECK(groups[2].pattern == "7");
  CHECK(group_names({"layers.0.w1", "layers.1.w1"})[0].pattern == "layers.*.w1");
  CHECK(text_and_numbers("a10.b") == std::vector<std::string>{"a", "10", ".b"});
  CHECK(text_and_numbers("7") == std::vector<std::string>{"", "7"});
  CHECK(differ_in_numbers("layers.0.w1", "layers.12.w1"));
  CHECK_FALSE(differ_in_numbers("layers.0.w1", "layers.0.w"));
  CHECK_FALSE(differ_in_numbers("layers.0.w1", "layers.0.v1"));
  CHECK(describe_groups(group_names({"a.1.b", "a.2.b", "c"})) == std::vector<std::string>{"a.*.b: 2 parameters", "c"});
}
