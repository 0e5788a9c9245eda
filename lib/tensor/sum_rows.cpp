#include "tensor/sum_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "tensor/mix.hpp"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms of g++ 12 in its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace ckpt {

namespace {

static_assert(std::endian::native == std::endian::little, "words are made of bytes as this machine does it");

constexpr std::uint64_t block_words = 1024;
constexpr std::uint64_t block_bytes = 4 * block_words;
constexpr std::uint64_t vector_bytes = 64;

/// Seeds of the two sets of keys: the digits of π and of e.
constexpr std::array<std::uint64_t, 2> word_seeds{0x243f6a8885a308d3, 0xb7e151628aed2a6a};
constexpr std::array<std::uint64_t, 2> block_seeds{0x13198a2e03707344, 0xbf7158809cf4f3c7};

/// Keys of a block's words, followed by zeros for vectors that extend beyond the block.
using WordKeys = std::array<std::uint32_t, block_words + vector_bytes / 4>;

constexpr WordKeys word_keys(std::uint64_t seed) {
  WordKeys keys{};
  for (std::uint64_t i = 0; i < block_words; ++i) keys[i] = static_cast<std::uint32_t>(mix(seed + i) >> 32) | 1U;
  return keys;
}

alignas(vector_bytes) constexpr WordKeys low_keys = word_keys(word_seeds[0]);
alignas(vector_bytes) constexpr WordKeys high_keys = word_keys(word_seeds[1]);

std::uint64_t block_key(std::uint64_t block, std::size_t set) {
  return mix(block_seeds[set] + block) | 1U;
}

/// Calls visit(row's distance from the first in memory, in the target, block, byte within it, bytes) for the parts of
/// rows within one block each.
template <class Visit>
[[gnu::always_inline]] inline void for_each_part(const Rows& rows, std::uint64_t offset, Visit&& visit) {
  for (std::uint64_t row = 0; row < rows.loop.count; ++row) {
    std::uint64_t source = row * rows.loop.source_stride;
    std::uint64_t target = row * rows.loop.target_stride;
    std::uint64_t at = offset + row * rows.loop.tensor_stride;
    for (std::uint64_t left = rows.bytes; left != 0;) {
      const std::uint64_t here = std::min(left, block_bytes - at % block_bytes);
      visit(source, target, at / block_bytes, at % block_bytes, here);
      source += here;
      target += here;
      at += here;
      left -= here;
    }
  }
}

// --- portable, for every processor ---------------------------------------------------------------------------------

struct Sums {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Adds a part of a word: its other bytes count as zero.
template <KeySets Sets>
void add_part_of_word(const std::byte* data, std::uint64_t at, std::uint64_t bytes, Sums& sums) {
  std::uint32_t word = 0;
  std::memcpy(&word, data, bytes);
  word <<= 8 * (at % 4);
  sums.low += std::uint64_t{word} * low_keys[at / 4];
  if constexpr (Sets == KeySets::both) sums.high += std::uint64_t{word} * high_keys[at / 4];
}

/// Returns Σ word · key over bytes starting at byte `at` of a block.
template <KeySets Sets>
[[gnu::always_inline]] inline Sums sum_in_block(const std::byte* data, std::uint64_t at, std::uint64_t bytes) {
  Sums sums;
  if (const std::uint64_t head = std::min(bytes, -at % 4); head != 0) {
    add_part_of_word<Sets>(data, at, head, sums);
    data += head;
    at += head;
    bytes -= head;
  }
  const std::uint32_t* low = low_keys.data() + at / 4;
  const std::uint32_t* high = high_keys.data() + at / 4;
  for (std::uint64_t i = 0; i < bytes / 4; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, data + 4 * i, 4);
    sums.low += std::uint64_t{word} * low[i];
    if constexpr (Sets == KeySets::both) sums.high += std::uint64_t{word} * high[i];
  }
  const std::uint64_t whole = bytes / 4 * 4;
  if (whole != bytes) add_part_of_word<Sets>(data + whole, at + whole, bytes - whole, sums);
  return sums;
}

template <KeySets Sets>
[[gnu::always_inline]] inline void sum_rows(const Rows& rows, const std::byte* source, std::byte* target,
                                            std::uint64_t offset, PartialSum& sum) {
  for_each_part(
      rows, offset,
      [&](std::uint64_t from, std::uint64_t to, std::uint64_t block, std::uint64_t at, std::uint64_t bytes)
          __attribute__((always_inline)) {
            if (target != nullptr) std::memcpy(target + to, source + from, bytes);
            const Sums sums = sum_in_block<Sets>(source + from, at, bytes);
            sum.low += sums.low * block_key(block, 0);
            if constexpr (Sets == KeySets::both) sum.high += sums.high * block_key(block, 1);
          });
  sum.bytes += rows.loop.count * rows.bytes;
}

void sum_rows_plain(KeySets sets, const Rows& rows, const std::byte* source, std::byte* target, std::uint64_t offset,
                    PartialSum& sum) {
  return sets == KeySets::both ? sum_rows<KeySets::both>(rows, source, target, offset, sum)
                               : sum_rows<KeySets::low>(rows, source, target, offset, sum);
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] void sum_rows_avx2(KeySets sets, const Rows& rows, const std::byte* source, std::byte* target,
                                           std::uint64_t offset, PartialSum& sum) {
  return sets == KeySets::both ? sum_rows<KeySets::both>(rows, source, target, offset, sum)
                               : sum_rows<KeySets::low>(rows, source, target, offset, sum);
}

// --- AVX-512 --------------------------------------------------------------------------------------------------------

/// Bytes of rows that are prefetched while one is copied. Rows longer than the second limit need no prefetch: the
/// processor predicts them well enough by itself.
constexpr std::uint64_t fetched_ahead = 2048;
constexpr std::uint64_t longest_fetched = 8192;

#define CKPT_AVX512 gnu::target("avx512f,avx512bw,avx512dq")

/// Words with even and with odd indices, or sums of them, eight of each.
struct Lanes {
  __m512i even;
  __m512i odd;
};

[[CKPT_AVX512, gnu::always_inline]] inline void add_products(Lanes& sums, Lanes words, const std::uint32_t* keys) {
  sums.even = _mm512_add_epi64(sums.even, _mm512_mul_epu32(words.even, _mm512_loadu_si512(keys)));
  sums.odd = _mm512_add_epi64(sums.odd, _mm512_mul_epu32(words.odd, _mm512_srli_epi64(_mm512_loadu_si512(keys), 32)));
}

/// Adds the sums of a block's part, times the block's key, lane by lane: the lanes are added up once, at the end.
[[CKPT_AVX512, gnu::always_inline]] inline __m512i add_block(__m512i total, Lanes sums, std::uint64_t key) {
  return _mm512_add_epi64(
      total, _mm512_mullo_epi64(_mm512_add_epi64(sums.even, sums.odd), _mm512_set1_epi64(static_cast<long long>(key))));
}

/// Sums the part of a row within one block. One multiplication gives eight products: twice as fast as the compiler's
/// code for the plain loop. Bytes outside the row are masked, in memory too: nothing outside it is accessed.
template <KeySets Sets, bool Copies>
struct Part {
  // Addresses of the first word, which may begin before the row does: integers, as no pointer may point there.
  std::uintptr_t source = 0;
  std::uintptr_t target = 0;
  std::uint64_t ahead = 0;  // distance from the source to data that is needed later, to prefetch (0: nothing new)
  const std::uint32_t* low_key = nullptr;
  const std::uint32_t* high_key = nullptr;
  Lanes low;
  Lanes high;

  [[CKPT_AVX512, gnu::always_inline]] inline void add(__m512i words, std::uint64_t i) {
    const Lanes both{words, _mm512_srli_epi64(words, 32)};
    add_products(low, both, low_key + i / 4);
    if constexpr (Sets == KeySets::both) add_products(high, both, high_key + i / 4);
  }
  [[CKPT_AVX512, gnu::always_inline]] inline void take(std::uint64_t i) {
    const __m512i words = _mm512_loadu_si512(reinterpret_cast<const void*>(source + i));
    if constexpr (Copies) {
      __builtin_prefetch(reinterpret_cast<const char*>(source + ahead + i), 0, 3);
      _mm512_storeu_si512(reinterpret_cast<void*>(target + i), words);
    }
    add(words, i);
  }
  [[CKPT_AVX512, gnu::always_inline]] inline void take(std::uint64_t i, __mmask64 mask) {
    const __m512i words = _mm512_maskz_loadu_epi8(mask, reinterpret_cast<const void*>(source + i));
    if constexpr (Copies) _mm512_mask_storeu_epi8(reinterpret_cast<void*>(target + i), mask, words);
    add(words, i);
  }
  /// Processes bytes [begin, end) from the first word's start, with begin below 4.
  [[CKPT_AVX512, gnu::always_inline]] inline void take_all(std::uint64_t begin, std::uint64_t end) {
    const auto below = [end](std::uint64_t i) { return end - i < 64 ? (1ULL << (end - i)) - 1 : ~0ULL; };
    std::uint64_t i = 0;
    if (begin != 0) {
      take(0, below(0) & (~0ULL << begin));
      i = vector_bytes;
    }
    for (; i + vector_bytes <= end; i += vector_bytes) take(i);
    if (i < end) take(i, below(i));
  }
};

/// Adds all eight lanes, modulo 2^64: _mm512_reduce_add_epi64 adds them as signed numbers, whose overflow is undefined.
[[CKPT_AVX512]] inline std::uint64_t added_up(__m512i total) {
  alignas(vector_bytes) std::array<std::uint64_t, 8> lanes{};
  _mm512_store_si512(lanes.data(), total);
  return std::accumulate(lanes.begin(), lanes.end(), std::uint64_t{0});
}

template <KeySets Sets, bool Copies>
[[CKPT_AVX512]] void take_rows(const Rows& rows, const std::byte* source, std::byte* target, std::uint64_t offset,
                               PartialSum& sum) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i low = zero;
  __m512i high = zero;
  // A processor predicts what comes next within a row, but not where the next row is.
  const std::uint64_t rows_ahead = 1 + fetched_ahead / std::max<std::uint64_t>(rows.bytes, 1);
  const std::uint64_t count_ahead = rows.bytes <= longest_fetched ? rows.loop.count : 0;
  for (std::uint64_t row = 0; row < rows.loop.count; ++row) {
    const std::uint64_t ahead = row + rows_ahead < count_ahead ? rows_ahead * rows.loop.source_stride : 0;
    std::uintptr_t from = reinterpret_cast<std::uintptr_t>(source) + row * rows.loop.source_stride;
    std::uintptr_t to = reinterpret_cast<std::uintptr_t>(target) + row * rows.loop.target_stride;
    std::uint64_t at = offset + row * rows.loop.tensor_stride;
    for (std::uint64_t left = rows.bytes; left != 0;) {
      const std::uint64_t word = at % block_bytes / 4;
      const std::uint64_t begin = at % 4;
      const std::uint64_t here = std::min(left, block_bytes - at % block_bytes);
      Part<Sets, Copies> part{from - begin, to - begin,  ahead, low_keys.data() + word, high_keys.data() + word,
                              {zero, zero}, {zero, zero}};
      part.take_all(begin, begin + here);
      low = add_block(low, part.low, block_key(at / block_bytes, 0));
      if constexpr (Sets == KeySets::both) high = add_block(high, part.high, block_key(at / block_bytes, 1));
      from += here;
      to += here;
      at += here;
      left -= here;
    }
  }
  sum.low += added_up(low);
  if constexpr (Sets == KeySets::both) sum.high += added_up(high);
  sum.bytes += rows.loop.count * rows.bytes;
}

void sum_rows_avx512(KeySets sets, const Rows& rows, const std::byte* source, std::byte* target, std::uint64_t offset,
                     PartialSum& sum) {
  if (target != nullptr)
    return sets == KeySets::both ? take_rows<KeySets::both, true>(rows, source, target, offset, sum)
                                 : take_rows<KeySets::low, true>(rows, source, target, offset, sum);
  return sets == KeySets::both ? take_rows<KeySets::both, false>(rows, source, target, offset, sum)
                               : take_rows<KeySets::low, false>(rows, source, target, offset, sum);
}

#undef CKPT_AVX512

#endif

}  // namespace

std::span<const RowSummer> row_summers() {
  static const std::vector<RowSummer> summers = [] {
    std::vector<RowSummer> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) found.push_back(sum_rows_avx512);
    if (__builtin_cpu_supports("avx2")) found.push_back(sum_rows_avx2);
#endif
    found.push_back(sum_rows_plain);
    return found;
  }();
  return summers;
}

}  // namespace ckpt
