#include "store/attributes_json.hpp"

#include <cmath>

#include "catch.hpp"
#include "refused.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;

template <class Number>
Value numbers_value(const char* type, const std::vector<Number>& numbers, Shape shape) {
  Value value{*number_type(type), std::move(shape), ""};
  for (const Number number : numbers) value.bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  return value;
}

Schema read_again(const std::string& text) {
  Schema schema;
  add_attributes(text, "a file", schema);
  return schema;
}

TEST_CASE("Numbers, texts, lists of them and no value are the same again after JSON") {
  const std::vector<Attribute> root{
      {"epoch", numbers_value<std::int64_t>("i64", {-3}, {})},
      {"flags", numbers_value<char>("bool", {1, 0}, {2})},
      {"large", numbers_value<std::uint64_t>("u64", {1, ~std::uint64_t{0}}, {2})},
      {"lr", numbers_value<double>("f64", {0.1, 2}, {2})},
      {"none", {*number_type("bool"), std::nullopt, ""}},
      {"nothing", integers_value({})},
      {"text", text_value("ü \"")},
  };
  const std::vector<Group> groups{{"a/b", {{"step", numbers_value<std::int64_t>("i64", {7}, {})}}}};
  const AttributesJson held = attributes_json(root, groups);
  CHECK(held.lost.empty());
  const Schema again = read_again(held.text);
  CHECK(again.attributes == root);
  CHECK(again.groups == groups);
}

TEST_CASE("Smaller numbers become numbers of 64 bits, and what JSON has not is named") {
  const AttributesJson held = attributes_json({{"half", numbers_value<float>("f32", {0.5}, {})},
                                               {"matrix", numbers_value<double>("f64", {1, 2}, {1, 2})},
                                               {"small", numbers_value<std::uint8_t>("u8", {7}, {1})}},
                                              {{"g", {{"inf", numbers_value<double>("f64", {HUGE_VAL}, {})}}}});
  CHECK(held.lost == std::vector<std::string>{"matrix", "g/inf"});
  const Schema again = read_again(held.text);
  REQUIRE(again.attributes.size() == 2);
  CHECK(again.attributes[0].value == numbers_value<double>("f64", {0.5}, {}));
  CHECK(again.attributes[1].value == integers_value({7}));
  CHECK(attributes_json({}, {}).text.empty());
  CHECK(read_again("").attributes.empty());
}

TEST_CASE("Attributes as JSON that nobody wrote so are refused") {
  for (const char* text :
       {"[]", "{\"\": 1}", "{\"\": {\"a\": {}}}", "{\"\": {\"a\": [1, \"b\"]}}", "{\"\": {\"a\": [[1]]}}"})
    CHECK_THAT(fixture::refused([&] { read_again(text); }), Contains("a file"));
}

}  // namespace
