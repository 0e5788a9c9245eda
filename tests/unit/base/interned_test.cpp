#include "base/interned.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("equal texts are one object, whatever they were made of") {
  const InternedText a = "model.weight";
  const InternedText b = std::string("model.") + "weight";
  const InternedText c = std::string_view("model.weight!").substr(0, 12);
  CHECK(&a.str() == &b.str());
  CHECK(&a.str() == &c.str());
  CHECK(InternedText() == InternedText(""));
  CHECK(InternedText().empty());
  CHECK_FALSE(a == InternedText("model.bias"));
  const std::string with_zero("a\0b", 3);
  CHECK(InternedText(with_zero).str() == with_zero);
  CHECK_FALSE(InternedText(with_zero) == InternedText("a"));
}

TEST_CASE("texts are ordered by their characters") {
  // Made in another order than they sort in: addresses say nothing.
  std::vector<InternedText> texts{"zz", "b", "", "a10", "a9"};
  std::sort(texts.begin(), texts.end());
  CHECK(texts == std::vector<InternedText>{"", "a10", "a9", "b", "zz"});
  CHECK(texts[1] < std::string("a11"));
  CHECK(texts[3] > std::string_view("a"));
}

TEST_CASE("texts are keys, and compare with what is no such text") {
  const std::unordered_set<InternedText> set{"a", "b", "a"};
  CHECK(set.size() == 2);
  CHECK(set.contains("b"));
  const std::map<std::string, int> map{{"a", 1}};
  CHECK(map.at(InternedText("a")) == 1);
  CHECK(InternedText("a") == "a");
  CHECK("x/" + InternedText("a") + "/y" == "x/a/y");
}
