#include "tensor/products.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

NumberFormat format(const std::string& dtype) {
  return number_format(number_type(dtype).value()).value();
}

struct Made {
  std::vector<std::byte> bytes;
  bool has_overflow = false;

  friend bool operator==(const Made&, const Made&) = default;
};

/// By one product and one cast after the other.
Made one_by_one(std::vector<float> numbers, const BlockScales& scales, const NumberFormat& to) {
  Made made{std::vector<std::byte>(numbers.size() * to.size)};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= scales.scales[(scales.first + i) / scales.block];
  for (const float number : numbers) made.has_overflow = made.has_overflow || std::isinf(number);
  Cast(format("f32"), to).run(std::as_bytes(std::span(numbers)).data(), made.bytes.data(), numbers.size(), [&](auto) {
    made.has_overflow = true;
  });
  return made;
}

/// By every set of instructions.
Made at_once(const std::vector<float>& numbers, const BlockScales& scales, const NumberFormat& to) {
  std::vector<Made> all;
  for (const ProductSteps& steps : product_steps()) {
    Made& made = all.emplace_back(std::vector<std::byte>(numbers.size() * to.size));
    std::vector<float> changed = numbers;
    made.has_overflow = Products(to, false, steps).run(changed, scales, made.bytes.data());
    REQUIRE((made == all.front()));
  }
  return all.front();
}

}  // namespace

TEST_CASE("products of blocks and their rounding are those of single numbers", "[products]") {
  std::mt19937 random(3);
  const auto any = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
  const auto moderate = [&] {
    return std::ldexp(static_cast<float>(random() % 65536) - 32768, static_cast<int>(random() % 40) - 40);
  };
  for (const char* const dtype : {"f32", "f16", "bf16"})
    for (const bool is_any : {false, true})
      for (const std::uint64_t count : {1, 31, 32, 200, 1000})
        for (const std::uint64_t block : {1, 16, 32, 77, 2000}) {
          std::vector<float> numbers(count);
          for (float& number : numbers) number = is_any ? any() : moderate();
          const std::uint64_t first = random() % block;
          std::vector<float> scales((first + count - 1) / block + 1);
          for (float& scale : scales)
            scale = is_any ? std::ldexp(1.5F, static_cast<int>(random() % 200) - 100) : moderate();
          const BlockScales of_blocks{scales, block, first};
          CHECK((at_once(numbers, of_blocks, format(dtype)) == one_by_one(numbers, of_blocks, format(dtype))));
        }
}

TEST_CASE("products that no number of the format is near are told of; those of infinities only if they are new",
          "[products]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> scales{2};
  const auto has_overflow = [&](std::vector<float> numbers, bool may_be_infinite, const char* dtype) {
    std::vector<std::byte> out(numbers.size() * sizeof(float));
    return Products(format(dtype), may_be_infinite).run(numbers, {scales, numbers.size(), 0}, out.data());
  };
  CHECK_FALSE(has_overflow({1, 32000}, false, "f16"));
  CHECK(has_overflow({1, 33000}, false, "f16"));
  CHECK_FALSE(has_overflow({1, 33000, std::numeric_limits<float>::quiet_NaN()}, false, "bf16"));
  CHECK(has_overflow({3e38F, 1}, false, "f32"));
  CHECK_FALSE(has_overflow({1, infinity}, true, "bf16"));
  CHECK(has_overflow({33000, infinity}, true, "f16"));
}

TEST_CASE("tables and words of codes give the same with every set of instructions", "[products]") {
  std::mt19937 random(5);
  const CodeNumbers& numbers = numbers_of_bytes(ElementKind::f8_e4m3);
  const auto table = Products(format("bf16"), false).table(numbers, 0.3F, 7);
  REQUIRE(table);
  CHECK_FALSE(Products(format("f16"), false).table(numbers, 300, 1));
  ShortNumbers halves{};
  for (std::size_t i = 0; i < halves.size(); ++i)
    halves[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(numbers[i]) >> 16);
  for (const std::size_t count : {1, 32, 1003}) {
    std::vector<std::byte> codes(4 * count);
    for (std::byte& code : codes) code = static_cast<std::byte>(random());
    std::vector<std::uint16_t> expected;
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<float> product{numbers[std::to_integer<std::size_t>(codes[i])] * 0.3F / 7};
      Made made = one_by_one(product, {std::vector<float>{1}, 1, 0}, format("bf16"));
      expected.push_back(std::bit_cast<std::uint16_t>(std::array<std::byte, 2>{made.bytes[0], made.bytes[1]}));
    }
    std::vector<float> zeros(8 * count);
    std::vector<float> scales(8 * count);
    for (float& zero : zeros) zero = static_cast<float>(random() % 17);
    for (float& scale : scales) scale = std::ldexp(static_cast<float>(random() % 4096), -20);
    for (const ProductSteps& steps : product_steps()) {
      std::vector<std::uint16_t> found(count);
      steps.look_up(codes.data(), *table, reinterpret_cast<std::byte*>(found.data()), count);
      CHECK(found == expected);
      std::vector<float> widened(count);
      steps.look_up_halves(codes.data(), halves, widened.data(), count);
      std::vector<float> one(count);
      steps.of_words(codes.data(), 12, {zeros.data(), scales.data()}, one.data(), count);
      constexpr std::array<std::uint32_t, 8> shifts{0, 16, 4, 20, 8, 24, 12, 28};
      std::vector<float> all(8 * count);
      steps.of_all(codes.data(), shifts, {zeros.data(), scales.data()}, all.data(), all.size());
      for (std::size_t i = 0; i < count; ++i) {
        const float number = numbers[std::to_integer<std::size_t>(codes[i])];
        CHECK(std::memcmp(&widened[i], &number, sizeof number) == 0);
        std::uint32_t word = 0;
        std::memcpy(&word, codes.data() + 4 * i, sizeof word);
        CHECK(one[i] == (static_cast<float>(word >> 12 & 15U) - zeros[i]) * scales[i]);
        for (std::size_t k = 0; k < 8; ++k)
          CHECK(all[8 * i + k] == (static_cast<float>(word >> shifts[k] & 15U) - zeros[8 * i + k]) * scales[8 * i + k]);
      }
    }
  }
}
