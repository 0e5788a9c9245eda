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

namespace {

template <class From, class To>
bool is_rounded(const char* from_type, From from, const char* to_type, To to) {
  return round_to(*number_format(*number_type(from_type)), reinterpret_cast<const std::byte*>(&from),
                  *number_format(*number_type(to_type)), reinterpret_cast<const std::byte*>(&to), 1);
}

}  // namespace

TEST_CASE("values round to the nearest of a smaller format, ties to even") {
  using Bits = std::uint16_t;
  CHECK(is_rounded("f32", 1.0F, "bf16", Bits{0x3f80}));
  CHECK(is_rounded("f32", 1.00390625F, "bf16", Bits{0x3f80}));  // a tie
  CHECK_FALSE(is_rounded("f32", 1.00390625F, "bf16", Bits{0x3f81}));
  CHECK(is_rounded("f32", 1.01171875F, "bf16", Bits{0x3f82}));  // a tie
  CHECK(is_rounded("f32", 1.004F, "bf16", Bits{0x3f81}));
  CHECK(is_rounded("f64", 1.004, "bf16", Bits{0x3f81}));
  CHECK(is_rounded("f32", 0.1F, "f16", Bits{0x2e66}));
  CHECK_FALSE(is_rounded("f32", 0.1F, "f16", Bits{0x2e67}));
  CHECK(is_rounded("f32", 1e-7F, "f16", Bits{2}));  // subnormal
  CHECK(is_rounded("f32", 65519.0F, "f16", Bits{0x7bff}));
  CHECK(is_rounded("f32", 65520.0F, "f16", Bits{0x7c00}));
  CHECK(is_rounded("f64", 0.1, "f32", 0.1F));
  CHECK(is_rounded("bf16", Bits{0x3f80}, "f32", 1.0F));
  CHECK(is_rounded("f32", -0.0F, "bf16", Bits{0}));
}

TEST_CASE("what is too large, and what is no number, when rounded") {
  using Bits = std::uint16_t;
  using Byte = std::uint8_t;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(is_rounded("f32", infinity, "bf16", Bits{0x7f80}));
  CHECK(is_rounded("f32", std::numeric_limits<float>::max(), "bf16", Bits{0x7f80}));
  CHECK_FALSE(is_rounded("f32", std::numeric_limits<float>::max(), "bf16", Bits{0xff80}));
  CHECK(is_rounded("f32", nan, "bf16", Bits{0x7fc1}));
  CHECK_FALSE(is_rounded("f32", nan, "bf16", Bits{0x7f80}));
  CHECK_FALSE(is_rounded("f32", 1.0F, "bf16", Bits{0x7fc0}));
  const auto all_ones = std::bit_cast<float>(~0U);  // a NaN whose bits overflow when they are rounded
  CHECK_FALSE(is_rounded("f32", all_ones, "bf16", Bits{0}));
  CHECK(is_rounded("f32", 463.0F, "f8_e4m3", Byte{0x7e}));
  CHECK(is_rounded("f32", 500.0F, "f8_e4m3", Byte{0x7f}));        // NaN
  CHECK(is_rounded("f32", 500.0F, "f8_e4m3", Byte{0x7e}));        // or the largest
  CHECK_FALSE(is_rounded("f32", 500.0F, "f8_e4m3", Byte{0xfe}));  // of its sign
  CHECK(is_rounded("f32", 1e6F, "f8_e5m2", Byte{0x7c}));
  CHECK(is_rounded("f32", 1e6F, "f8_e5m2", Byte{0x7b}));
}

TEMPLATE_TEST_CASE("whether all of a row are finite", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const auto format = number_format(type_of(sizeof(TestType) == 4 ? "f32" : "f64", sizeof(TestType))).value();
  std::vector<TestType> row(37, Limits::max());
  row[1] = -Limits::denorm_min();
  const auto is_finite = [&] { return are_finite(format, reinterpret_cast<const std::byte*>(row.data()), row.size()); };
  CHECK(is_finite());
  for (const TestType other : {-Limits::infinity(), Limits::quiet_NaN()}) {
    row.back() = other;
    CHECK_FALSE(is_finite());
  }
}

TEST_CASE("whether small numbers are finite, in either byte order") {
  const auto is_finite = [](const char* dtype, std::vector<unsigned char> bytes, bool is_swapped = false) {
    NumberFormat format = number_format(number_type(dtype).value()).value();
    format.is_swapped = is_swapped;
    return are_finite(format, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size() / format.size);
  };
  CHECK(is_finite("bf16", {0x7f, 0xff, 0x00, 0x7c}));
  CHECK_FALSE(is_finite("bf16", {0, 0, 0x80, 0xff}));
  CHECK_FALSE(is_finite("bf16", {0xff, 0x80}, true));
  CHECK(is_finite("bf16", {0x80, 0xff}, true));
  CHECK(is_finite("f16", {0xff, 0x7b}));
  CHECK_FALSE(is_finite("f16", {0x00, 0x7c}));
  CHECK(is_finite("f8_e5m2", {0x7b, 0xfb}));
  CHECK_FALSE(is_finite("f8_e5m2", {0x7b, 0xfc}));
  CHECK(is_finite("f8_e4m3", {0x7e}));
}

TEST_CASE("rows round as their elements do") {
  const std::array<float, 3> from{1.0F, 2.0F, -3.0F};
  std::array<std::uint16_t, 3> to{0x3f80, 0x4000, 0xc040};
  const auto agree = [&] {
    return round_to(*number_format(*number_type("f32")), reinterpret_cast<const std::byte*>(from.data()),
                    *number_format(*number_type("bf16")), reinterpret_cast<const std::byte*>(to.data()), 3);
  };
  CHECK(agree());
  to[2] = 0x4040;
  CHECK_FALSE(agree());
}

TEST_CASE("the same numbers may have forms of their own in a file format") {
  DType marked = *number_type("bf16");
  marked.native = "two opaque bytes";
  CHECK(are_same_numbers(marked, *number_type("bf16")));
  CHECK_FALSE(are_same_numbers(marked, *number_type("f16")));
  CHECK_FALSE(are_same_numbers(*number_type("i32"), *number_type("i32be")));
  const DType opaque{ElementKind::other, ByteOrder::little, 2, "opaque2", ""};
  CHECK_FALSE(are_same_numbers(opaque, opaque));
}
