#include "layout/names/pattern.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

struct MatchCase {
  std::string pattern;
  std::string name;
  bool expected;
};

TEST_CASE("a pattern matches the whole name") {
  const std::vector<MatchCase> cases{
      {"a", "a", true},
      {"a", "ab", false},
      {"b", "ab", false},
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "layers/0/attn/wq", true},
      {"layers/*/wq", "layers/0/attn/wq", true},
      {"layers/*/wq", "layers/wq", false},
      {"*.qkv.weight", "layers.0.qkv.weight", true},
      {"*.qkv.weight", ".qkv.weight", true},
      {"*.qkv.weight", "qkv.weight", false},
      {"*.qkv.weight", "layers.0.qkv.weight.exp_avg", false},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXcYbZ", false},
      {"**", "anything", true},
      {"a**b", "ab", true},
      {"?", "a", true},
      {"?", "", false},
      {"?", "ab", false},
      {"a?c", "a/c", true},
      {"*?", "", false},
      {"*??", "é", false},
      {"?", "é", true},
      {"??", "é", false},
      {"w?w", "w漢w", true},
      {"?", "😀", true},
      {"a?", "a\xC3", true},
      {"[0-9]", "7", true},
      {"[0-9]", "a", false},
      {"[0-9]", "", false},
      {"[0-9]", "77", false},
      {"[a-cx]", "b", true},
      {"[a-cx]", "x", true},
      {"[a-cx]", "d", false},
      {"[!0-9]", "a", true},
      {"[!0-9]", "5", false},
      {"[!0-9]", "", false},
      {"[!]", "!", true},
      {"[!]", "a", false},
      {"[]]", "]", true},
      {"[]a]", "a", true},
      {"[a-]", "-", true},
      {"[-a]", "-", true},
      {"[α-ω]", "λ", true},
      {"[α-ω]", "a", false},
      {"[*]", "*", true},
      {"[*]", "x", false},
      {"[?]", "?", true},
      {"[[]0]", "[0]", true},
      {"[{]x}", "{x}", true},
      {"[é]", "é", true},
      {"a]b}c", "a]b}c", true},
      {"{x}", "", true},
      {"{x}", "a/b.c", true},
      {"moments.{param}", "moments.", true},
      {"moments.{param}", "moment.a", false},
      {"{x}.{x}", "ab.ab", true},
      {"{x}.{x}", "ab.ac", false},
      {"{x}.{x}", ".", true},
      {"{x}{x}", "abab", true},
      {"{x}{x}", "aba", false},
      {"{x}{y}{x}", "a-a", true},
      {"*{x}*{x}", "abcXabc", true},
      {"layers.[0-9].*", "layers.3.attn", true},
      {"layers.[0-9].*", "layers.13.attn", false},
  };
  for (const auto& [pattern, name, expected] : cases) {
    INFO("pattern " << pattern << ", name " << name);
    CHECK(Pattern(pattern).matches(name) == expected);
    CHECK(Pattern(pattern).match(name).has_value() == expected);
  }
}

struct CaptureCase {
  std::string pattern;
  std::string name;
  Captures expected;
};

TEST_CASE("captures hold what they matched, earlier ones as little as can be") {
  const std::vector<CaptureCase> cases{
      {"abc", "abc", {}},
      {"moments.{param}", "moments.layers.0.w", {{"param", "layers.0.w"}}},
      {"{a}.{b}", "x.y.z", {{"a", "x"}, {"b", "y.z"}}},
      {"{a}{b}", "xy", {{"a", ""}, {"b", "xy"}}},
      {"*.{b}", "x.y.z", {{"b", "y.z"}}},
      {"{a}.weight", "x.weight.weight", {{"a", "x.weight"}}},
      {"{x}/{x}", "a/b/a/b", {{"x", "a/b"}}},
      {"{x}{y}{x}", "aba", {{"x", ""}, {"y", "aba"}}},
      {"{x}-{y}-{x}", "1-2-1-2-1", {{"x", "1"}, {"y", "2-1-2"}}},
      {"?{x}", "éa", {{"x", "a"}}},
      {"{x}?", "aé", {{"x", "a"}}},
  };
  for (const auto& [pattern, name, expected] : cases) {
    INFO("pattern " << pattern << ", name " << name);
    const auto captures = Pattern(pattern).match(name);
    REQUIRE(captures.has_value());
    CHECK(*captures == expected);
  }
}

TEST_CASE("numeric captures match digits only, one at least") {
  const Pattern layers("*.{i}.*", {"i"});
  CHECK(layers.find("model.layers.12.mlp.0.w", "i")->text == "12");
  CHECK(layers.find("model.layers.12.mlp.0.w", "i")->position == 13);
  CHECK(layers.find("a.b.3.c", "i")->text == "3");
  CHECK_FALSE(layers.find("a..c", "i").has_value());
  CHECK_FALSE(layers.find("a.b.c", "i").has_value());
  CHECK_FALSE(layers.find("a.1b.c", "i").has_value());
  CHECK_FALSE(layers.find("a.3.c", "j").has_value());
  CHECK(Pattern("layer{i}", {"i"}).find("layer007", "i")->text == "007");
  CHECK_FALSE(Pattern("layer{i}", {"i"}).matches("layer"));
  CHECK_FALSE(Pattern("layer{i}", {"i"}).matches("layer-1"));
  CHECK(Pattern("x{i}{rest}", {"i"}).match("x12")->at("i") == "1");
  CHECK(Pattern("x{i}{i}", {"i"}).match("x1212")->at("i") == "12");
}

TEST_CASE("a name is made by filling captures in") {
  CHECK(Pattern("moments.{p}[*]").fill({{"p", "w"}, {"q", "unused"}}) == "moments.w*");
  CHECK(Pattern("{p}/{p}").fill({{"p", "a"}}) == "a/a");
  CHECK(Pattern("plain").fill({}) == "plain");
  CHECK_THROWS_AS(Pattern("{p}").fill({}), Error);
  CHECK_THROWS_AS(Pattern("*").fill({}), Error);
}

TEST_CASE("a pattern tells its captures and wildcards") {
  CHECK(Pattern("{a}.{b}.{a}").captures() == std::set<std::string>{"a", "b"});
  CHECK(Pattern("{a}.{b}.{a}").occurrences("a") == 2);
  CHECK(Pattern("{a}").occurrences("b") == 0);
  CHECK_FALSE(Pattern("{a}[*]x").has_wildcard());
  CHECK(Pattern("{a}*").has_wildcard());
  CHECK(Pattern("a?").has_wildcard());
  CHECK(Pattern("[ab]").has_wildcard());
  CHECK(Pattern("[!a]").has_wildcard());
  CHECK(Pattern("a[*]").text() == "a[*]");
  CHECK(Pattern().matches(""));
}

TEST_CASE("an ill-formed pattern is a layout error that says what is wrong") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a[bc", "an open ["},
      {"a[", "an open ["},
      {"a[]", "an open ["},
      {"{x", "an open {"},
      {"{}", "the capture {}"},
      {"{a b}", "the capture {a b}"},
      {"{a{b}}", "the capture {a{b}"},
      {"[z-a]", "runs backwards"},
      {std::string(5000, 'a'), "at most 4096"},
  };
  for (const auto& [pattern, message] : cases) {
    INFO("pattern " << pattern);
    try {
      const Pattern made(pattern);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == Kind::layout);
      CHECK_THAT(error.what(), Catch::Matchers::Contains(message));
    }
  }
}

TEST_CASE("hostile patterns take polynomial time") {
  std::string stars;
  std::string captures;
  for (int i = 0; i < 60; ++i) {
    stars += "a*";
    captures += "a{c" + std::to_string(i) + "}";
  }
  const std::string name(2000, 'a');
  CHECK_FALSE(Pattern(stars + "b").matches(name));
  CHECK(Pattern(stars).matches(name));
  CHECK_FALSE(Pattern(captures + "b").matches(name));
  CHECK(Pattern(captures).match(name)->at("c59") == std::string(2000 - 60, 'a'));

  SECTION("where captures are repeated the search is given up") {
    std::string repeated;
    for (int i = 0; i < 8; ++i) repeated += "{c" + std::to_string(i) + "}";
    CHECK_THROWS_WITH(Pattern(repeated + repeated + "b").matches(std::string(61, 'a') + "b"),
                      Catch::Matchers::Contains("too many ways"));
  }
  SECTION("where name and pattern are both huge") {
    std::string many;
    for (int i = 0; i < 128; ++i) many += "a{c" + std::to_string(i) + "}";
    CHECK_THROWS_WITH(Pattern(many).matches(std::string(300000, 'a')), Catch::Matchers::Contains("too long"));
    CHECK_THROWS_WITH(Pattern(many + "*"),
                      Catch::Matchers::Contains("129 wildcards and captures, expected at most 128"));
  }
}

}  // namespace
