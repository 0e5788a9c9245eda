#include "tensor/products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/rounding.hpp"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms of g++ 12 in its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace ckpt {

namespace {

using rounding::below;
using rounding::f32_infinity;
using rounding::f32_sign;
using rounding::select;

template <class Format>
[[gnu::always_inline]] inline bool round_products(const float* __restrict numbers, const BlockScales& scales,
                                                  std::byte* __restrict to, std::uint64_t count) {
  std::uint32_t most = 0;
  std::uint64_t end = scales.block - scales.first;
  const float* scale = scales.scales.data();
  for (std::uint64_t begin = 0; begin < count; begin = end, end += scales.block, ++scale) {
    const float factor = *scale;
    const std::uint64_t here = std::min(end, count) - begin;
    const float* const from = numbers + begin;
    std::byte* const made = to + begin * sizeof(typename Format::To);
    for (std::uint64_t i = 0; i < here; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(from[i] * factor);
      const std::uint32_t magnitude = bits & ~f32_sign;
      const std::uint32_t nan = below(f32_infinity, magnitude);
      const auto rounded =
          static_cast<typename Format::To>(select(nan, Format::not_a_number(bits), Format::number(bits)));
      most = std::max(most, magnitude & ~nan);
      std::memcpy(made + i * sizeof rounded, &rounded, sizeof rounded);
    }
  }
  return most < Format::rounds_to_infinity;
}

[[gnu::always_inline]] inline float product(std::uint32_t word, std::uint32_t shift, float zero, float scale) {
  return (static_cast<float>(static_cast<std::int32_t>(word >> shift & 15U)) - zero) * scale;
}

[[gnu::always_inline]] inline void take_words(const std::byte* __restrict words, unsigned shift,
                                              const WordScales& scales, float* __restrict to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, words + i * sizeof word, sizeof word);
    to[i] = product(word, shift, scales.zeros[i], scales.scales[i]);
  }
}

[[gnu::always_inline]] inline void take_all(const std::byte* __restrict words,
                                            const std::array<std::uint32_t, 8>& __restrict shifts,
                                            const WordScales& scales, float* __restrict to, std::uint64_t count) {
  for (std::uint64_t first = 0; first < count; first += shifts.size()) {
    std::uint32_t word = 0;
    std::memcpy(&word, words + first / 2, sizeof word);
    for (std::uint64_t i = 0; i < shifts.size(); ++i)
      to[first + i] = product(word, shifts[i], scales.zeros[first + i], scales.scales[first + i]);
  }
}

void look_up_plain(const std::byte* codes, const ShortNumbers& table, std::byte* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy(to + i * sizeof table[0], &table[std::to_integer<std::size_t>(codes[i])], sizeof table[0]);
}

void look_up_halves_plain(const std::byte* codes, const ShortNumbers& table, float* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(std::uint32_t{table[std::to_integer<std::size_t>(codes[i])]} << 16);
}

#if defined(__x86_64__)
#define CKPT_AVX512 gnu::target("avx512f,avx512bw,avx512vl,avx512dq")

/// A table in registers: each quarter lies in two, and bits 6 and 7 of a code say in which quarter its number is.
struct TableInRegisters {
  static constexpr std::uint64_t at_once = 32;
  __m512i parts[8];  // NOLINT(modernize-avoid-c-arrays): as an argument of a template, the type has no alignment

  [[CKPT_AVX512, gnu::always_inline]] inline explicit TableInRegisters(const ShortNumbers& table) {
    for (std::size_t i = 0; i < 8; ++i) parts[i] = _mm512_loadu_si512(table.data() + i * at_once);
  }
  [[CKPT_AVX512, gnu::always_inline]] inline __m512i numbers(const std::byte* codes) const {
    const __m512i code = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)));
    const __mmask32 is_odd = _mm512_test_epi16_mask(code, _mm512_set1_epi16(1 << 6));
    const __m512i low = _mm512_mask_blend_epi16(is_odd, _mm512_permutex2var_epi16(parts[0], code, parts[1]),
                                                _mm512_permutex2var_epi16(parts[2], code, parts[3]));
    const __m512i high = _mm512_mask_blend_epi16(is_odd, _mm512_permutex2var_epi16(parts[4], code, parts[5]),
                                                 _mm512_permutex2var_epi16(parts[6], code, parts[7]));
    return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(code, _mm512_set1_epi16(1 << 7)), low, high);
  }
};

[[CKPT_AVX512]] void look_up_avx512(const std::byte* codes, const ShortNumbers& table, std::byte* to,
                                    std::uint64_t count) {
  const TableInRegisters held(table);
  std::uint64_t i = 0;
  for (; i + TableInRegisters::at_once <= count; i += TableInRegisters::at_once)
    _mm512_storeu_si512(to + i * sizeof table[0], held.numbers(codes + i));
  look_up_plain(codes + i, table, to + i * sizeof table[0], count - i);
}

[[CKPT_AVX512]] void look_up_halves_avx512(const std::byte* codes, const ShortNumbers& table, float* to,
                                           std::uint64_t count) {
  const TableInRegisters held(table);
  std::uint64_t i = 0;
  for (; i + TableInRegisters::at_once <= count; i += TableInRegisters::at_once) {
    const __m512i halves = held.numbers(codes + i);
    const __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(halves));
    const __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(halves, 1));
    _mm512_storeu_si512(to + i, _mm512_slli_epi32(first, 16));
    _mm512_storeu_si512(to + i + TableInRegisters::at_once / 2, _mm512_slli_epi32(second, 16));
  }
  look_up_halves_plain(codes + i, table, to + i, count - i);
}
#undef CKPT_AVX512
#endif

// NOLINTBEGIN(bugprone-macro-parentheses): an attribute stands in no parentheses
#define CKPT_PRODUCT_STEPS(name, target)                                                                          \
  template <class Format>                                                                                         \
  target bool round_##name(const float* numbers, const BlockScales& scales, std::byte* to, std::uint64_t count) { \
    return round_products<Format>(numbers, scales, to, count);                                                    \
  }                                                                                                               \
  target void take_words_##name(const std::byte* words, unsigned shift, const WordScales& scales, float* to,      \
                                std::uint64_t count) {                                                            \
    take_words(words, shift, scales, to, count);                                                                  \
  }                                                                                                               \
  target void take_all_##name(const std::byte* words, const std::array<std::uint32_t, 8>& shifts,                 \
                              const WordScales& scales, float* to, std::uint64_t count) {                         \
    take_all(words, shifts, scales, to, count);                                                                   \
  }                                                                                                               \
  constexpr ProductSteps steps_##name(decltype(ProductSteps::look_up) look_up,                                    \
                                      decltype(ProductSteps::look_up_halves) look_up_halves) {                    \
    return {round_##name<rounding::ToF32>,                                                                        \
            round_##name<rounding::ToF16>,                                                                        \
            round_##name<rounding::ToBF16>,                                                                       \
            look_up,                                                                                              \
            look_up_halves,                                                                                       \
            take_words_##name,                                                                                    \
            take_all_##name};                                                                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)

CKPT_PRODUCT_STEPS(plain, )
#if defined(__x86_64__)
CKPT_PRODUCT_STEPS(avx2, [[gnu::target("avx2")]])
CKPT_PRODUCT_STEPS(avx512, [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]])
#endif
#undef CKPT_PRODUCT_STEPS

}  // namespace

std::span<const ProductSteps> product_steps() {
  static const std::vector<ProductSteps> all = [] {
    std::vector<ProductSteps> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      found.push_back(steps_avx512(look_up_avx512, look_up_halves_avx512));
    if (__builtin_cpu_supports("avx2")) found.push_back(steps_avx2(look_up_plain, look_up_halves_plain));
#endif
    found.push_back(steps_plain(look_up_plain, look_up_halves_plain));
    return found;
  }();
  return all;
}

Products::Products(const NumberFormat& to, bool may_be_infinite, const ProductSteps& steps)
    : cast_({ElementKind::ieee_float, sizeof(float), false, true}, to),
      may_be_infinite_(may_be_infinite),
      round_(to.size == sizeof(float)         ? steps.to_f32
             : to.kind == ElementKind::bfloat ? steps.to_bf16
                                              : steps.to_f16) {}

bool Products::run(std::span<float> numbers, const BlockScales& scales, std::byte* to) const {
  if (round_(numbers.data(), scales, to, numbers.size())) return false;
  scale_blocks(numbers, scales);
  bool has_overflow =
      !may_be_infinite_ && std::ranges::any_of(numbers, [](float number) { return std::isinf(number); });
  cast_.run(std::as_bytes(numbers).data(), to, numbers.size(), [&](std::uint64_t) { has_overflow = true; });
  return has_overflow;
}

std::optional<ShortNumbers> Products::table(const CodeNumbers& numbers, float scale, float divisor) const {
  CodeNumbers products = numbers;
  if (divisor != 1) {
    for (float& each : products) each = each * scale / divisor;
    scale = 1;
  }
  ShortNumbers table;
  if (run(products, {{&scale, 1}, products.size(), 0}, reinterpret_cast<std::byte*>(table.data()))) return std::nullopt;
  return table;
}

}  // namespace ckpt
