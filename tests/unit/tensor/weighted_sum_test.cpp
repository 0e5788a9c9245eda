#include "tensor/weighted_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "tensor/exact_sum.hpp"

using namespace ckpt;

namespace {

NumberFormat format(const std::string& dtype) {
  return number_format(number_type(dtype).value()).value();
}

template <class Number>
struct Summed {
  std::vector<Number> numbers;
  std::uint64_t overflows = 0;
};

/// Sums numbers of f32.
template <class Number>
Summed<Number> sums(const std::vector<double>& weights, const std::vector<std::vector<float>>& terms,
                    const std::string& to) {
  std::vector<const std::byte*> sources;
  for (const auto& each : terms) sources.push_back(reinterpret_cast<const std::byte*>(each.data()));
  Summed<Number> made{std::vector<Number>(terms.front().size())};
  made.overflows = WeightedSum(weights, std::vector(terms.size(), format("f32")), format(to))
                       .run(sources, reinterpret_cast<std::byte*>(made.numbers.data()), made.numbers.size());
  return made;
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a weighted sum is the exact one, rounded to f64 and then to the result", "[weighted_sum]") {
  // Integers times powers of two: 64 bits hold each sum, and converting them rounds once.
  constexpr std::size_t count = 5000;
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> number(-(1 << 24), 1 << 24);
  std::uniform_int_distribution<std::int64_t> weight(-(1LL << 34), 1LL << 34);
  std::vector<double> weights;
  std::vector<std::int64_t> whole(count, 0);
  std::vector<std::vector<float>> terms;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t m = weight(random);
    weights.push_back(std::ldexp(static_cast<double>(m), -34));
    auto& term = terms.emplace_back();
    for (std::size_t at = 0; at < count; ++at) {
      // Every third column nearly cancels, and every fifth is a tie of bf16.
      const std::int64_t k = at % 3 == 0 ? (i % 2 == 0 ? 1 : -1) * static_cast<std::int64_t>(at) : number(random);
      term.push_back(std::ldexp(static_cast<float>(k), -20));
      whole[at] += m * k;
    }
  }
  std::vector<double> exact;
  for (const std::int64_t each : whole) exact.push_back(std::ldexp(static_cast<double>(each), -54));
  CHECK(sums<double>(weights, terms, "f64").numbers == exact);

  const auto expect = [&]<class Number>(const std::string& to, Number) {
    std::vector<Number> rounded(count);
    Cast(format("f64"), format(to))
        .run(reinterpret_cast<const std::byte*>(exact.data()), reinterpret_cast<std::byte*>(rounded.data()), count,
             [](std::uint64_t) {});
    CHECK(sums<Number>(weights, terms, to).numbers == rounded);
    std::reverse(weights.begin(), weights.end());
    std::reverse(terms.begin(), terms.end());
    CHECK(sums<Number>(weights, terms, to).numbers == rounded);
  };
  expect("f32", 0.0F);
  expect("f16", std::uint16_t{0});
  expect("bf16", std::uint16_t{0});
}

TEST_CASE("a weighted sum between two results is decided by its last bits", "[weighted_sum]") {
  // 1 + 2^-8 is halfway between 1 and the next bf16; what is added is lost in f64 but for its sign.
  for (const double sign : {1.0, -1.0}) {
    const std::vector<std::vector<float>> terms{{1.00390625F}, {0x1p-100F}, {-0x1p-120F}};
    // f64 rounds such a sum to the tie itself, which goes to the even one: 1.
    CHECK(sums<std::uint16_t>({1, sign, sign}, terms, "bf16").numbers.front() == 0x3f80);
    // f64 has room for this one, f32 has not.
    CHECK(sums<std::uint16_t>({1, sign * 0x1p74, 0}, terms, "bf16").numbers.front() == (sign > 0 ? 0x3f81 : 0x3f80));
    CHECK(sums<std::uint16_t>({1, sign * 0x1p60, 0}, terms, "bf16").numbers.front() == (sign > 0 ? 0x3f81 : 0x3f80));
  }
  // 2^53 + 1 lies between two numbers of f64; the third term decides.
  const std::vector<std::vector<float>> terms{{0x1p53F}, {1.0F}, {0x1p-60F}};
  CHECK(sums<double>({1, 1, 1}, terms, "f64").numbers.front() == 0x1p53 + 2);
  CHECK(sums<double>({1, 1, 0}, terms, "f64").numbers.front() == 0x1p53);
  CHECK(sums<double>({1, 1, -1}, terms, "f64").numbers.front() == 0x1p53);
}

TEST_CASE("sums of f64 at its ends depend on no order", "[weighted_sum]") {
  const auto sum = [](std::vector<double> weights, std::vector<double> terms) {
    std::vector<double> made;
    for (int order = 0; order < 2; ++order) {
      std::vector<const std::byte*> sources;
      for (const double& each : terms) sources.push_back(reinterpret_cast<const std::byte*>(&each));
      WeightedSum(weights, std::vector(terms.size(), format("f64")), format("f64"))
          .run(sources, reinterpret_cast<std::byte*>(&made.emplace_back()), 1);
      std::reverse(weights.begin(), weights.end());
      std::reverse(terms.begin(), terms.end());
    }
    CHECK(std::bit_cast<std::uint64_t>(made.front()) == std::bit_cast<std::uint64_t>(made.back()));
    return made.front();
  };
  constexpr double least = std::numeric_limits<double>::denorm_min();
  constexpr double most = std::numeric_limits<double>::max();
  CHECK(sum({1, 1, -1}, {most, most, most}) == most);
  CHECK(sum({4, -3.5, 0.25}, {most, most, most}) == most * 0.75);
  CHECK(sum({1, 1}, {most, most}) == infinity);
  CHECK(sum({1, 1}, {most, 0x1p969}) == most);  // below the middle between this number and the next
  CHECK(sum({1, 1}, {most, 0x1p970}) == infinity);
  CHECK(sum({0.5, 0.5}, {least, 2 * least}) == 2 * least);  // a tie
  CHECK(sum({0.5, 0.25}, {least, least}) == least);
  CHECK(sum({0.5, 0.5}, {least, 0}) == 0);
  CHECK(sum({1e100, -1e100, 1e-100}, {most, most, 1e-200}) == 1e-100 * 1e-200);
  CHECK(std::signbit(sum({0.25, 0.25}, {-least, 0})));
}

TEST_CASE("long sums and exact ones agree", "[weighted_sum]") {
  constexpr std::size_t count = 3000;
  std::mt19937_64 random(11);
  std::normal_distribution<double> number(0, 0.02);
  const std::vector<double> weights{0.3, -0.7, 1.1, 0.05};
  std::vector<std::vector<double>> terms(weights.size());
  for (std::size_t at = 0; at < count; ++at)
    for (std::size_t i = 0; i < terms.size(); ++i)  // some cancel but for their last bits
      terms[i].push_back(at % 4 != 0 || i == 0 ? number(random) : std::nextafter(terms[0].back() * 0.3 / 0.7, 1));
  std::vector<const std::byte*> sources;
  for (const auto& each : terms) sources.push_back(reinterpret_cast<const std::byte*>(each.data()));
  std::vector<double> made(count);
  WeightedSum(weights, std::vector(terms.size(), format("f64")), format("f64"))
      .run(sources, reinterpret_cast<std::byte*>(made.data()), count);
  for (std::size_t at = 0; at < count; ++at) {
    ExactSum exact;
    for (std::size_t i = 0; i < terms.size(); ++i) exact.add(weights[i], terms[i][at]);
    CHECK(made[at] == exact.rounded());
  }
}

TEST_CASE("an exact sum is that of whole numbers", "[weighted_sum]") {
  std::mt19937_64 random(5);
  const auto number = [&](unsigned bits) {
    return static_cast<std::int64_t>(random()) >> (64 - bits + random() % bits);
  };
  for (int i = 0; i < 2000; ++i) {
    ExactSum sum;
    std::int64_t whole = 0;
    const int scale = static_cast<int>(random() % 1600) - 900;
    for (int term = 0; term < 4; ++term) {
      const std::int64_t a = number(40);
      const std::int64_t b = number(20);
      whole += a * b;
      sum.add(static_cast<double>(a), std::ldexp(static_cast<double>(b), scale));
    }
    CHECK(sum.rounded() == std::ldexp(static_cast<double>(whole), scale));
  }
}

TEST_CASE("zeros, infinities and NaN of a weighted sum", "[weighted_sum]") {
  const auto sum = [](float a, float b) { return sums<float>({1, 1}, {{a}, {b}}, "f32"); };
  CHECK(std::signbit(sum(-0.0F, -0.0F).numbers.front()));
  CHECK_FALSE(std::signbit(sum(-0.0F, 0.0F).numbers.front()));
  CHECK_FALSE(std::signbit(sum(1.5F, -1.5F).numbers.front()));
  CHECK(sum(infinity, 1).numbers.front() == infinity);
  CHECK(sum(infinity, 1).overflows == 0);
  for (const float odd : {not_a_number, -not_a_number, std::bit_cast<float>(0x7f812345U)})
    CHECK(std::bit_cast<std::uint32_t>(sum(1, odd).numbers.front()) == 0x7fc00000);
  CHECK(std::bit_cast<std::uint32_t>(sum(infinity, -infinity).numbers.front()) == 0x7fc00000);
  const float largest = std::numeric_limits<float>::max();
  CHECK(sum(largest, largest).numbers.front() == infinity);
  CHECK(sum(-largest, -largest).overflows == 1);
  CHECK(sums<float>({0.5, 0.5}, {{largest}, {largest}}, "f32").numbers.front() == largest);
}

TEST_CASE("one number with the weight 1 stays as it is", "[weighted_sum]") {
  std::vector<std::uint16_t> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    if ((bits & 0x7f80U) != 0x7f80U || (bits & 0x7fU) == 0) all.push_back(static_cast<std::uint16_t>(bits));
  std::vector<std::uint16_t> made(all.size());
  const std::byte* const source = reinterpret_cast<const std::byte*>(all.data());
  CHECK(WeightedSum({1}, {format("bf16")}, format("bf16"))
            .run(std::span(&source, 1), reinterpret_cast<std::byte*>(made.data()), made.size()) == 0);
  CHECK(made == all);
}

TEST_CASE("sums of all formats are the exact ones, rounded twice", "[weighted_sum]") {
  constexpr std::size_t count = 3001;
  std::mt19937_64 random(17);
  for (const std::string from : {"bf16", "f16", "f32", "f64", "f8_e4m3", "swapped"})
    for (const std::string to : {"bf16", "f16", "f32", "f64"})
      for (const std::vector<double>& weights :
           {std::vector<double>{0.25, 0.25, 0.3, 0.2}, {0.5, 0.25, 0.125, 0.125}}) {
        NumberFormat stored = from == "f8_e4m3"   ? NumberFormat{ElementKind::f8_e4m3, 1, false, true}
                              : from == "swapped" ? format("f32")
                                                  : format(from);
        stored.is_swapped = from == "swapped";
        std::vector<std::vector<std::byte>> terms(weights.size(), std::vector<std::byte>(count * stored.size));
        std::vector<const std::byte*> sources;
        for (auto& term : terms) {
          for (std::size_t i = 0; i < count; ++i) {  // few bits, so that many sums are ties; some are subnormal in f16
            const int exponent = i % 3 == 0 ? -20 : -4;
            const float number =
                std::ldexp(static_cast<float>(random() % 511) - 255, exponent - static_cast<int>(i % 7));
            std::byte* const at = term.data() + i * stored.size;
            if (stored.size == 1)
              *at = static_cast<std::byte>(random() % 120);
            else
              Cast(format("f32"), format(from == "swapped" ? "f32" : from))
                  .run(reinterpret_cast<const std::byte*>(&number), at, 1, [](std::uint64_t) {});
            if (stored.is_swapped) std::reverse(at, at + stored.size);
          }
          sources.push_back(term.data());
        }
        const NumberFormat made = format(to);
        std::vector<double> exact;
        for (std::size_t i = 0; i < count; ++i) {
          ExactSum sum;
          for (std::size_t k = 0; k < terms.size(); ++k)
            sum.add(weights[k], float_value(stored, sources[k] + i * stored.size));
          exact.push_back(sum.rounded());
        }
        std::vector<std::byte> expected(count * made.size);
        Cast(format("f64"), made)
            .run(std::as_bytes(std::span(exact)).data(), expected.data(), count, [](std::uint64_t) {});
        std::vector<std::byte> found(expected.size());
        CHECK(WeightedSum(weights, std::vector(terms.size(), stored), made).run(sources, found.data(), count) == 0);
        std::size_t differing = 0;
        for (std::size_t i = 0; i < count; ++i) {  // +0 and -0 are told apart elsewhere
          const std::byte* const a = found.data() + i * made.size;
          const std::byte* const b = expected.data() + i * made.size;
          const bool are_zeros = float_value(made, a) == 0 && float_value(made, b) == 0;
          differing += !are_zeros && std::memcmp(a, b, made.size) != 0 ? 1U : 0U;
        }
        INFO(from << " to " << to);
        CHECK(differing == 0);
      }
}
