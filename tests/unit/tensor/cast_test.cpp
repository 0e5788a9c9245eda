#include "tensor/cast.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::byte>;

NumberFormat format(const std::string& dtype) {
  return number_format(number_type(dtype).value()).value();
}

template <class Number>
Bytes bytes_of(const std::vector<Number>& numbers) {
  Bytes bytes(numbers.size() * sizeof(Number));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

template <class Number>
std::vector<Number> numbers_in(const Bytes& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

struct Outcome {
  Bytes bytes;
  std::vector<std::uint64_t> overflows;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome cast(const std::string& from, const std::string& to, const Bytes& source, const CastSteps& steps) {
  const std::uint64_t count = source.size() / format(from).size;
  Outcome outcome{Bytes(count * format(to).size), {}};
  Cast(format(from), format(to), steps).run(source.data(), outcome.bytes.data(), count, [&](std::uint64_t i) {
    outcome.overflows.push_back(i);
  });
  return outcome;
}

/// What every set of instructions makes of it, which must be the same.
Outcome cast(const std::string& from, const std::string& to, const Bytes& source) {
  Outcome first = cast(from, to, source, cast_steps().front());
  for (const CastSteps& steps : cast_steps()) REQUIRE((cast(from, to, source, steps) == first));
  return first;
}

template <class To, class From>
std::vector<To> cast(const std::string& from, const std::string& to, const std::vector<From>& source) {
  return numbers_in<To>(cast(from, to, bytes_of(source)).bytes);
}

/// Whether every element is the nearest by arithmetic in double precision, with the sign that it had, and those that
/// became infinite are told of.
bool is_right(const std::string& from, const std::string& to, const Bytes& source) {
  const auto [bytes, overflows] = cast(from, to, source);
  const NumberFormat a = format(from);
  const NumberFormat b = format(to);
  std::vector<std::uint64_t> infinite;
  for (std::uint64_t i = 0; i < source.size() / a.size; ++i) {
    const std::byte* element = source.data() + i * a.size;
    const std::byte* found = bytes.data() + i * b.size;
    const double before = float_value(a, element);
    const double after = float_value(b, found);
    if (!round_to(a, element, b, found, 1) || std::signbit(before) != std::signbit(after)) return false;
    if (std::isfinite(before) && std::isinf(after)) infinite.push_back(i);
  }
  return infinite == overflows;
}

template <class Number>
Bytes all_numbers() {
  std::vector<Number> numbers(std::size_t{1} << (8 * sizeof(Number)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Number>(i);
  return bytes_of(numbers);
}

/// Bits of f32 at random, and next to the midpoints between neighbours of the small types.
std::vector<std::uint32_t> interesting_singles() {
  std::mt19937 dice(3);
  std::vector<std::uint32_t> bits;
  for (int i = 0; i < 40'000; ++i) {
    const auto any = static_cast<std::uint32_t>(dice());
    const auto near = static_cast<std::uint32_t>(dice() % 5) - 2;
    const std::uint32_t half_range = (any & 0x80000000U) | (0x32000000U + (any & 0x7fffffffU) % 0x16000000U);
    for (const std::uint32_t each :
         {any, (any & 0xffff0000U) + 0x8000U + near, (half_range & ~0x1fffU) + 0x1000U + near})
      bits.push_back(each);
  }
  return bits;
}

std::vector<std::uint64_t> interesting_doubles() {
  std::mt19937_64 dice(4);
  std::vector<std::uint64_t> bits;
  for (const std::uint32_t single : interesting_singles()) {
    const auto wide = std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(single)));
    bits.push_back(wide + dice() % 3 - 1);
    bits.push_back(wide + (dice() >> 36));
    bits.push_back(dice());
  }
  return bits;
}

}  // namespace

TEST_CASE("All numbers of the small types become the nearest of any other") {
  for (const char* to : {"f64", "f32", "f16", "bf16"}) {
    for (const char* from : {"f16", "f16be", "bf16", "bf16be"}) CHECK(is_right(from, to, all_numbers<std::uint16_t>()));
    for (const char* from : {"f8_e4m3", "f8_e5m2"}) CHECK(is_right(from, to, all_numbers<std::uint8_t>()));
  }
}

TEST_CASE("Large numbers become the nearest small ones, ties to even") {
  for (const char* to : {"f64", "f32", "f16", "bf16"}) {
    CHECK(is_right("f32", to, bytes_of(interesting_singles())));
    CHECK(is_right("f32be", to, bytes_of(interesting_singles())));
    CHECK(is_right("f64", to, bytes_of(interesting_doubles())));
    CHECK(is_right("f64be", to, bytes_of(interesting_doubles())));
  }
  CHECK(cast<std::uint16_t>("f32", "bf16", std::vector<float>{1 + 0x1p-8F, 1 + 0x3p-8F, 1 + 0x1p-8F + 0x1p-20F}) ==
        std::vector<std::uint16_t>{0x3f80, 0x3f82, 0x3f81});
  CHECK(cast<std::uint16_t>("f32", "f16", std::vector<float>{65519, 65520, -0x1p-25F, -0x1.8p-25F}) ==
        std::vector<std::uint16_t>{0x7bff, 0x7c00, 0x8000, 0x8001});
}

TEST_CASE("A number is rounded once, not to f32 first") {
  const std::vector<double> above_ties{1 + 0x1p-8 + 0x1p-40, -(1 + 0x1p-11 + 0x1p-40), 0x1p-134 + 0x1p-180};
  CHECK(cast<std::uint16_t>("f64", "bf16", above_ties) == std::vector<std::uint16_t>{0x3f81, 0xbf80, 0x0001});
  CHECK(cast<std::uint16_t>("f64", "f16", above_ties) == std::vector<std::uint16_t>{0x3c04, 0xbc01, 0x0000});
  const std::vector<double> below_ties{1 + 0x3p-8 - 0x1p-40, 0x1p-133 * 1.5 - 0x1p-180};
  CHECK(cast<std::uint16_t>("f64", "bf16", below_ties) == std::vector<std::uint16_t>{0x3f81, 0x0001});
}

TEST_CASE("NaN keeps its sign and is quiet where bits are lost") {
  const std::vector<std::uint32_t> singles{0x7f800001, 0xff800001, 0x7fc0e000, 0xffffffff, 0xffa02000};
  CHECK(cast<std::uint16_t>("f32", "bf16", singles) ==
        std::vector<std::uint16_t>{0x7fc0, 0xffc0, 0x7fc0, 0xffc0, 0xffc0});
  CHECK(cast<std::uint16_t>("f32", "f16", singles) ==
        std::vector<std::uint16_t>{0x7e00, 0xfe00, 0x7e07, 0xffff, 0xff01});
  const std::vector<std::uint64_t> doubles{0x7ff0000000000001, 0xfff8000000000000};
  CHECK(cast<std::uint32_t>("f64", "f32", doubles) == std::vector<std::uint32_t>{0x7fc00000, 0xffc00000});
  CHECK(cast<std::uint16_t>("f64", "bf16", doubles) == std::vector<std::uint16_t>{0x7fc0, 0xffc0});
  CHECK(cast<std::uint32_t>("bf16", "f32", std::vector<std::uint16_t>{0x7f81, 0xffc0}) ==
        std::vector<std::uint32_t>{0x7f810000, 0xffc00000});
}

TEST_CASE("What was finite and becomes infinite is told of, what was infinite is not") {
  std::vector<float> numbers(3000, 1);
  numbers[1] = 65520;
  numbers[2] = std::numeric_limits<float>::infinity();
  numbers[2047] = -1e30F;
  CHECK(cast("f32", "f16", bytes_of(numbers)).overflows == std::vector<std::uint64_t>{1, 2047});
  CHECK(cast("f32", "bf16", bytes_of(numbers)).overflows.empty());
  CHECK(cast("f64", "bf16", bytes_of(std::vector<double>{1e39, -1e300, -HUGE_VAL})).overflows ==
        std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("A cast may be made in place") {
  const std::vector<std::uint32_t> singles = interesting_singles();
  const Bytes source = bytes_of(singles);
  for (const char* to : {"bf16", "f16", "f64", "f32"}) {
    const Bytes expected = cast("f32", to, source).bytes;
    Bytes memory(std::max(source.size(), expected.size()));
    std::byte* const at_end = memory.data() + (memory.size() - source.size());
    std::copy(source.begin(), source.end(), at_end);
    Cast(format("f32"), format(to)).run(at_end, memory.data(), singles.size(), [](std::uint64_t) {});
    memory.resize(expected.size());
    CHECK(memory == expected);
  }
}

TEST_CASE("numbers are scaled in f32, and rounded once to the other type", "[cast]") {
  const auto scaled = [](const std::vector<float>& numbers, const Scaling& scaling,
                         std::uint64_t* overflows = nullptr) {
    const Cast cast(format("f32"), format("f32"), scaling);
    Bytes bytes = bytes_of(numbers);
    cast.run(bytes.data(), bytes.data(), numbers.size(), [&](std::uint64_t i) {
      if (overflows != nullptr) *overflows += i + 1;
    });
    std::vector<float> result(numbers.size());
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  };
  const std::vector<float> numbers{0.1F, -3, 1e-3F, 7};
  std::vector<float> there;
  for (const float x : numbers) there.push_back(static_cast<float>(x * 0.3F) + 1);
  CHECK(scaled(numbers, {0.3F, 1}) == there);
  for (std::size_t i = 0; i < numbers.size(); ++i) there[i] = static_cast<float>(there[i] - 1) / 0.3F;
  CHECK(scaled(scaled(numbers, {0.3F, 1}), {0.3F, 1, true}) == there);
  std::uint64_t overflows = 0;
  CHECK(std::isinf(scaled({1, 3e38F, INFINITY}, {2, 0}, &overflows)[1]));
  CHECK(overflows == 2);
}

TEST_CASE("a scaling between other types is that of f32", "[cast]") {
  for (const char* from : {"f64", "f16", "bf16"})
    for (const char* to : {"f64", "f32", "f16", "bf16"}) {
      CAPTURE(from, to);
      const std::vector<float> numbers{0.5F, -3, 1.25F};
      const std::size_t count = numbers.size();
      const auto cast = [&](const Cast& by, const Bytes& bytes, std::uint64_t size) {
        Bytes result(count * size);
        by.run(bytes.data(), result.data(), count, [](std::uint64_t) {});
        return result;
      };
      const Bytes source = cast(Cast(format("f32"), format(from)), bytes_of(numbers), format(from).size);
      std::vector<float> scaled;
      for (const float x : numbers) scaled.push_back(x / 3);
      const Bytes expected = cast(Cast(format("f32"), format(to)), bytes_of(scaled), format(to).size);
      CHECK(cast(Cast(format(from), format(to), Scaling{3, 0, true}), source, format(to).size) == expected);
    }
}
