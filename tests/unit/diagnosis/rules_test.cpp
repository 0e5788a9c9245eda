#include "diagnosis/draft/rules.hpp"

#include "catch.hpp"
#include "layout/names/naming.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

Layout on_tp() {
  return parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [2]}})", "the test");
}

ParameterRule whole(const std::string& name) {
  return {name, {}, {4}};
}

ParameterRule split(const std::string& name) {
  Keys keys;
  keys.split = std::vector<std::vector<Axis>>{{0}};
  return {name, keys, {4}};
}

std::vector<std::string> written(const std::vector<ParameterRule>& decided, const std::vector<std::string>& open = {}) {
  std::vector<std::string> rules;
  for (const Rule& rule : write_rules(decided, open, on_tp())) {
    std::string text;
    for (const Pattern& name : rule.names) text += name.text() + " ";
    rules.push_back(text + (rule.like ? "like " + rule.like->text() : rule.keys.split ? "split" : "whole"));
  }
  return rules;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("names that differ in numbers are one pattern, and what is cut alike one rule") {
  CHECK(written({split("layers.0.w"), split("layers.1.w"), split("head"), whole("norm")}) ==
        Texts{"layers.*.w head split", "norm whole"});
  CHECK(written({split("layers.0.w1"), whole("layers.0.w2"), split("layers.1.w1"), whole("layers.1.w2")}) ==
        Texts{"layers.*.w1 split", "layers.*.w2 whole"});
}

TEST_CASE("a pattern matches no name of another rule, and none that is open") {
  CHECK(written({split("a.0.w"), split("a.1.w"), whole("a.0.b.w")}) == Texts{"a.0.w a.1.w split", "a.0.b.w whole"});
  CHECK(written({split("a.0.w"), split("a.1.w")}, {"a.2.w"}) == Texts{"a.0.w a.1.w split"});
}

TEST_CASE("names that all follow others are like them; where one does not, none is") {
  CHECK(written({split("w"), split("m.w"), split("v.w"), split("w.slot")}) ==
        Texts{"{param}.slot m.{param} v.{param} like {param}", "w split"});
  CHECK(written({split("w"), split("b"), split("m.w"), whole("m.b")}) == Texts{"w b m.w split", "m.b whole"});
  CHECK(written({split("w"), split("m.w")}, {"m.x"}) == Texts{"w m.w split"});
}

TEST_CASE("characters that mean something in patterns are written as themselves") {
  const std::vector<Rule> rules = write_rules({split("a[0].w*"), split("a[1].w*"), whole("a?")}, {}, on_tp());
  Layout layout = on_tp();
  layout.parameters = rules;
  const Naming naming(layout);
  CHECK(naming.decide("a[1].w*")->keys.split);
  CHECK_FALSE(naming.decide("a[2].w*"));
  CHECK_FALSE(naming.decide("ab"));
}
