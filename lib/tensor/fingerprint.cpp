#include "tensor/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms of g++ 12 in its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <spdlog/fmt/fmt.h>

namespace ckpt {

namespace {

static_assert(std::endian::native == std::endian::little, "words are made of bytes as this machine does it");

constexpr std::uint64_t block_words = 1024;
constexpr std::uint64_t block_bytes = 4 * block_words;

/// Seeds of the two sets of keys: the digits of π and of e.
constexpr std::array<std::uint64_t, 2> word_seeds{0x243f6a8885a308d3, 0xb7e151628aed2a6a};
constexpr std::array<std::uint64_t, 2> block_seeds{0x13198a2e03707344, 0xbf7158809cf4f3c7};
constexpr std::array<std::uint64_t, 2> text_seeds{0xa4093822299f31d0, 0x62e7160f38b4da56};

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014; the constants are Stafford's variant 13).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct WordKeys {
  alignas(64) std::array<std::uint32_t, block_words> low;
  alignas(64) std::array<std::uint32_t, block_words> high;
};

constexpr std::array<std::uint32_t, block_words> word_keys(std::uint64_t seed) {
  std::array<std::uint32_t, block_words> keys{};
  for (std::uint64_t i = 0; i < block_words; ++i) keys[i] = static_cast<std::uint32_t>(mix(seed + i) >> 32) | 1U;
  return keys;
}

constexpr WordKeys keys{word_keys(word_seeds[0]), word_keys(word_seeds[1])};

std::uint64_t block_key(std::uint64_t block, std::size_t set) {
  return mix(block_seeds[set] + block) | 1U;
}

struct Sums {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Σ word · key over whole words from word `first` of a block on, for one or both sets of keys.
template <KeySets Sets>
[[gnu::always_inline]] inline Sums add_words(const std::byte* data, std::uint64_t first, std::uint64_t count) {
  Sums sums;
  const std::uint32_t* low = keys.low.data() + first;
  const std::uint32_t* high = keys.high.data() + first;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, data + 4 * i, 4);
    sums.low += std::uint64_t{word} * low[i];
    if constexpr (Sets == KeySets::both) sums.high += std::uint64_t{word} * high[i];
  }
  return sums;
}

using AddWords = Sums (*)(const std::byte*, std::uint64_t, std::uint64_t);

template <KeySets Sets>
Sums add_words_plain(const std::byte* data, std::uint64_t first, std::uint64_t count) {
  return add_words<Sets>(data, first, count);
}

#if defined(__x86_64__)

template <KeySets Sets>
[[gnu::target("avx2")]] Sums add_words_avx2(const std::byte* data, std::uint64_t first, std::uint64_t count) {
  return add_words<Sets>(data, first, count);
}

/// Words with even and with odd numbers, or sums of them, eight of each.
struct Lanes {
  __m512i even;
  __m512i odd;
};

[[gnu::target("avx512f"), gnu::always_inline]] inline void add_products(Lanes& sums, Lanes words, __m512i key) {
  sums.even = _mm512_add_epi64(sums.even, _mm512_mul_epu32(words.even, key));
  sums.odd = _mm512_add_epi64(sums.odd, _mm512_mul_epu32(words.odd, _mm512_srli_epi64(key, 32)));
}

/// The sums over all lanes of both, side by side.
[[gnu::target("avx512f"), gnu::always_inline]] inline Sums total(Lanes low, Lanes high) {
  const __m512i a = _mm512_add_epi64(low.even, low.odd);
  const __m512i b = _mm512_add_epi64(high.even, high.odd);
  const __m512i pairs = _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  const __m256i four = _mm256_add_epi64(_mm512_castsi512_si256(pairs), _mm512_extracti64x4_epi64(pairs, 1));
  const __m128i both = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(both)), static_cast<std::uint64_t>(_mm_extract_epi64(both, 1))};
}

/// Twice as fast as what the compiler makes of the loop: one multiplication gives eight products.
template <KeySets Sets>
[[gnu::target("avx512f")]] Sums add_words_avx512(const std::byte* data, std::uint64_t first, std::uint64_t count) {
  const __m512i zero = _mm512_setzero_si512();
  Lanes low{zero, zero};
  Lanes high{zero, zero};
  const std::uint32_t* low_keys = keys.low.data() + first;
  const std::uint32_t* high_keys = keys.high.data() + first;
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512i words = _mm512_loadu_si512(data + 4 * i);
    const Lanes both{words, _mm512_srli_epi64(words, 32)};
    add_products(low, both, _mm512_loadu_si512(low_keys + i));
    if constexpr (Sets == KeySets::both) add_products(high, both, _mm512_loadu_si512(high_keys + i));
  }
  if (i < count) {
    const auto rest = static_cast<__mmask16>((1U << (count - i)) - 1);
    const __m512i words = _mm512_maskz_loadu_epi32(rest, data + 4 * i);
    const Lanes both{words, _mm512_srli_epi64(words, 32)};
    add_products(low, both, _mm512_maskz_loadu_epi32(rest, low_keys + i));
    if constexpr (Sets == KeySets::both) add_products(high, both, _mm512_maskz_loadu_epi32(rest, high_keys + i));
  }
  return total(low, high);
}

template <KeySets Sets>
AddWords best() {
  if (__builtin_cpu_supports("avx512f")) return add_words_avx512<Sets>;
  return __builtin_cpu_supports("avx2") ? add_words_avx2<Sets> : add_words_plain<Sets>;
}

#else

template <KeySets Sets>
AddWords best() {
  return add_words_plain<Sets>;
}

#endif

template <KeySets Sets>
const AddWords add_many_words = best<Sets>();

/// Sums up runs of bytes; those of one block are multiplied by its key together.
template <KeySets Sets>
class Summer {
 public:
  void add(const std::byte* data, std::uint64_t offset, std::uint64_t bytes) {
    bytes_ += bytes;
    while (bytes != 0) {
      enter(offset / block_bytes);
      const std::uint64_t at = offset % block_bytes;
      const std::uint64_t here = std::min(bytes, block_bytes - at);
      add_in_block(data, at, here);
      data += here;
      offset += here;
      bytes -= here;
    }
  }

  PartialSum finish() {
    flush();
    return {low_, high_, bytes_};
  }

 private:
  void enter(std::uint64_t block) {
    if (block == block_) return;
    flush();
    block_ = block;
  }

  void flush() {
    low_ += in_block_.low * block_key(block_, 0);
    if constexpr (Sets == KeySets::both) high_ += in_block_.high * block_key(block_, 1);
    in_block_ = {};
  }

  /// Bytes of one word that is not whole here: the others count as zero.
  void add_part(const std::byte* data, std::uint64_t at, std::uint64_t bytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, data, bytes);
    word <<= 8 * (at % 4);
    in_block_.low += std::uint64_t{word} * keys.low[at / 4];
    if constexpr (Sets == KeySets::both) in_block_.high += std::uint64_t{word} * keys.high[at / 4];
  }

  void add_in_block(const std::byte* data, std::uint64_t at, std::uint64_t bytes) {
    if (const std::uint64_t head = std::min(bytes, -at % 4); head != 0) {
      add_part(data, at, head);
      data += head;
      at += head;
      bytes -= head;
    }
    if (const std::uint64_t words = bytes / 4; words != 0) {
      const Sums sums = words < 8 ? add_words<Sets>(data, at / 4, words) : add_many_words<Sets>(data, at / 4, words);
      in_block_.low += sums.low;
      in_block_.high += sums.high;
    }
    if (bytes % 4 != 0) add_part(data + bytes / 4 * 4, at + bytes / 4 * 4, bytes % 4);
  }

  std::uint64_t block_ = 0;
  Sums in_block_;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t bytes_ = 0;
};

/// As if copied to its place in the whole tensor: what is contiguous on both sides is summed at once.
template <KeySets Sets>
PartialSum sum_of_copy(const StridedCopy& copy, const std::byte* data, std::uint64_t offset) {
  Summer<Sets> summer;
  if (copy.run != 0)
    for_each_step({copy.loops.data(), copy.depth},
                  [&](std::uint64_t from, std::uint64_t to) { summer.add(data + from, offset + to, copy.run); });
  return summer.finish();
}

/// FNV-1a (Fowler, Noll and Vo) of a text, 64 bits.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

PartialSum sum_of(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  Summer<KeySets::both> summer;
  summer.add(bytes.data(), offset, bytes.size());
  return summer.finish();
}

PartialSum sum_of(const Extents& shape, std::uint64_t element, const std::byte* data, const Extents& strides,
                  std::uint64_t first, const Extents& tensor_strides, KeySets sets) {
  const StridedCopy copy = strided_copy(shape, strides, tensor_strides, element);
  return sets == KeySets::both ? sum_of_copy<KeySets::both>(copy, data, first * element)
                               : sum_of_copy<KeySets::low>(copy, data, first * element);
}

PartialSum sum_of(const Region& region, std::uint64_t element, const std::byte* data, const Extents& tensor_strides,
                  KeySets sets) {
  std::uint64_t first = 0;
  for (std::size_t d = 0; d < region.box.rank(); ++d) first += region.box.lo[d] * tensor_strides[d];
  return sum_of(region.box.shape(), element, data, region.strides, first, tensor_strides, sets);
}

NameKey::NameKey(const std::string& text) noexcept
    : low_(mix(text_seeds[0] + hash_of(text)) | 1U), high_(mix(text_seeds[1] + hash_of(text)) | 1U) {}

Fingerprint fingerprint(const PartialSum& sum, const std::string& description) noexcept {
  const std::uint64_t text = hash_of(description);
  return {mix(sum.low + mix(text_seeds[0] ^ text)), mix(sum.high + mix(text_seeds[1] ^ text))};
}

std::string describe_tensor(const std::string& name, const std::string& dtype, const Extents& shape) {
  return name + " " + dtype + " " + to_string(shape);
}

std::string to_string(const Fingerprint& fingerprint) {
  return fmt::format("{:016x}{:016x}", fingerprint.high, fingerprint.low);
}

}  // namespace ckpt
