#include "tensor/number.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

template <class Value>
std::vector<std::byte> bytes_of(Value value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  return {begin, begin + sizeof value};
}

DType type_of(const char* name, std::uint64_t size) {
  const auto number = number_type(name);
  return number && number->size == size ? *number : DType{ElementKind::other, ByteOrder::little, size, name, ""};
}

template <class Value>
Distance between(const char* dtype, Value a, Value b) {
  const auto format = number_format(type_of(dtype, sizeof(Value)));
  REQUIRE(format);
  return distance(*format, bytes_of(a).data(), *format, bytes_of(b).data());
}

template <class Value>
std::string text_of(const char* dtype, Value value) {
  return element_text(type_of(dtype, sizeof value), bytes_of(value).data());
}

}  // namespace

TEST_CASE("elements as text") {
  CHECK(text_of("f32", 0.1F) == "0.1");
  CHECK(text_of("f64", -1e300) == "-1e+300");
  CHECK(text_of("f32", std::numeric_limits<float>::quiet_NaN()) == "nan");
  CHECK(text_of("i8", std::int8_t{-128}) == "-128");
  CHECK(text_of("u64", ~std::uint64_t{0}) == "18446744073709551615");
  CHECK(text_of("bool", std::uint8_t{1}) == "1");
  CHECK(text_of("i16be", std::uint16_t{0x0100}) == "1");
  CHECK(text_of("opaque2", std::uint16_t{0xff00}) == "0x00ff");
}

TEST_CASE("half and brain floats, to the ends of their ranges") {
  CHECK(text_of("f16", std::uint16_t{0x3c00}) == "1");
  CHECK(text_of("f16", std::uint16_t{0xc000}) == "-2");
  CHECK(text_of("f16", std::uint16_t{0x7bff}) == "65504");
  CHECK(text_of("f16", std::uint16_t{0x0001}) == "5.9604645e-08");
  CHECK(text_of("f16", std::uint16_t{0x7c00}) == "inf");
  CHECK(text_of("f16", std::uint16_t{0x7e00}) == "nan");
  CHECK(text_of("bf16", std::uint16_t{0x3f80}) == "1");
  CHECK(text_of("bf16be", std::uint16_t{0x803f}) == "1");
  CHECK(text_of("bf16", std::uint16_t{0xff80}) == "-inf");
}

TEST_CASE("distances of floats") {
  CHECK(between("f32", 2.0F, 3.0F).absolute == 1);
  CHECK(between("f32", 2.0F, 4.0F).relative == 0.5);
  CHECK(between("f64", 0.0, -0.0).absolute == 0);
  CHECK(between("f64", 1.0, -1.0).relative == 2);
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(between("f64", nan, -nan).absolute == 0);
  CHECK(between("f64", infinity, infinity).absolute == 0);
  CHECK(between("f64", infinity, 1.0).relative == infinity);
  CHECK(between("f64", nan, 1.0).absolute == infinity);
}

TEST_CASE("distances of integers are not rounded away") {
  CHECK(between("i64", (std::int64_t{1} << 60) + 1, std::int64_t{1} << 60).absolute == 1);
  CHECK(between("u8", std::uint8_t{255}, std::uint8_t{0}).absolute == 255);
  CHECK(between("i8", std::int8_t{-128}, std::int8_t{127}).absolute == 255);
  CHECK(between("i64", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()).absolute ==
        std::ldexp(1.0, 64));
}

TEST_CASE("floats of different formats") {
  const auto f32 = number_format(*number_type("f32"));
  const auto bf16 = number_format(type_of("bf16", 2));
  const Distance found = distance(*f32, bytes_of(1.001953125F).data(), *bf16, bytes_of(std::uint16_t{0x3f80}).data());
  CHECK(found.absolute == 0.001953125);
}

TEST_CASE("what is no number") {
  CHECK_FALSE(number_format(type_of("c64", 8)));
  CHECK_FALSE(number_format(type_of("opaque2", 2)));
  CHECK_FALSE(number_format(type_of("f32", 8)));
  CHECK_FALSE(number_format(type_of("be", 1)));
}
