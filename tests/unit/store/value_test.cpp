#include "store/value.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

Value fixed(ElementKind kind, std::uint64_t size, const Shape& shape, const std::string& bytes) {
  return {{kind, ByteOrder::little, size, "string", "x"}, shape, bytes};
}

TEST_CASE("A text comes back, empty or with zeros in it") {
  for (const std::string& text : {std::string("step"), std::string(), std::string("a\0b", 3)})
    CHECK(text_in(text_value(text)) == text);
}

TEST_CASE("Texts of a fixed size end at their first zero, or before the spaces at their end") {
  CHECK(texts_in(fixed(ElementKind::text, 3, {2}, std::string("a\0bcde", 6))) == std::vector<std::string>{"a", "cde"});
  CHECK(text_in(fixed(ElementKind::space_padded_text, 4, {}, "a b ")) == "a b");
  CHECK(text_in(fixed(ElementKind::space_padded_text, 2, {}, "  ")) == "");
}

TEST_CASE("A text that is none is empty") {
  CHECK(text_in(Value{text_type(), Shape{}, std::string(8, '\xff')}) == "");
}

TEST_CASE("What is no single text is none") {
  CHECK_FALSE(text_in(integers_value({1})));
  CHECK_FALSE(text_in(Value{text_type(), std::nullopt, ""}));
  CHECK_FALSE(text_in(fixed(ElementKind::text, 1, {2}, "ab")));
}

TEST_CASE("Damaged texts are an error") {
  Value value = text_value("hello");
  value.bytes.pop_back();
  CHECK_THROWS_AS(text_in(value), Error);
  CHECK_THROWS_AS(texts_in(fixed(ElementKind::text, 3, {2}, "abcde")), Error);
}

TEST_CASE("A list of integers comes back as extents") {
  for (const Shape& extents : {Shape{}, Shape{0}, Shape{3, 1ULL << 62, 7}})
    CHECK(shape_in(integers_value(extents)) == extents);
}

TEST_CASE("What is no list of extents is none") {
  CHECK_FALSE(shape_in(text_value("3")));
  CHECK_FALSE(shape_in(Value{*number_type("i8"), Shape{1}, "\xff"}));
  CHECK_FALSE(shape_in(Value{*number_type("i64"), Shape{}, std::string(8, '\0')}));
  CHECK_FALSE(shape_in(Value{*number_type("u64"), Shape{1}, std::string(8, '\xff')}));
  CHECK_FALSE(shape_in(Value{*number_type("f32"), Shape{1}, std::string(4, '\0')}));
  CHECK_FALSE(shape_in(Value{*number_type("i64"), Shape{2}, std::string(8, '\0')}));
}

TEST_CASE("a list of whole numbers may be longer than a shape") {
  const Value list{*number_type("i64"), Shape{40}, std::string(320, '\0')};
  REQUIRE(whole_numbers_in(list));
  CHECK(*whole_numbers_in(list) == std::vector<std::uint64_t>(40));
  CHECK_THROWS_AS(shape_in(list), Error);
}

TEST_CASE("Integers of every size and order are extents") {
  CHECK(shape_in(Value{*number_type("u8"), Shape{2}, std::string("\1\xff", 2)}) == Shape{1, 255});
  CHECK(shape_in(Value{*number_type("i32be"), Shape{1}, std::string("\0\0\1\0", 4)}) == Shape{256});
}

}  // namespace
