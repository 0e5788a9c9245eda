#include "store/paddle/line_scan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace ckpt {

namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t blocks_at_once = 64;

/// One bit for each byte of a block. The methods of this file follow Langdale and Lemire, "Parsing Gigabytes of JSON
/// per Second" (2019): logic over all of a block's bytes at once checks the rules, without branches.
using Bits = std::uint64_t;

/// The classes of the bytes of a block.
struct Classes {
  Bits digits = 0;
  Bits up_to_two = 0;  // a subset of the digits
  Bits blanks = 0;
  Bits dots = 0;
  Bits exponents = 0;
  Bits minuses = 0;
  Bits pluses = 0;
  Bits newlines = 0;
};

/// A block's bits, following those of the previous block.
class BitsWithCarry {
 public:
  explicit BitsWithCarry(Bits before = 0) : before_(before) {}
  /// Shifts the bits by `distance` bytes: 1 to 63.
  [[gnu::always_inline]] inline Bits later(Bits bits, int distance) const {
    return bits << distance | before_ >> (block_bytes - static_cast<unsigned>(distance));
  }
  void next(Bits bits) { before_ = bits; }

 private:
  Bits before_;
};

/// Runs of digits that start at given bytes, and may continue in the next block.
class DigitRuns {
 public:
  /// Returns the bytes after such runs; `digits` becomes the digits outside all of them.
  [[gnu::always_inline]] inline Bits ends(Bits begins, Bits& digits) {
    // A bit that is added at a run's first digit carries through the run to the byte after it.
    const Bits sum = digits + begins;
    const Bits all = sum + carry_;
    carry_ = static_cast<Bits>(sum < digits) | static_cast<Bits>(all < sum);
    const Bits ends = all & ~digits;
    digits &= all;
    return ends;
  }

 private:
  Bits carry_ = 0;
};

/// Finds, block by block, the bytes that no plain line contains.
class PlainRules {
 public:
  [[gnu::always_inline]] inline Bits broken(const Classes& c) {
    const Bits after_newline = newlines_.later(c.newlines, 1);
    const Bits after_digit = digits_.later(c.digits, 1);
    const Bits after_exponent = exponents_.later(c.exponents, 1);
    const Bits after_dot = dots_.later(c.dots, 1);
    const Bits after_blank = blanks_.later(c.blanks, 1);
    const Bits signs = c.minuses | c.pluses;
    const Bits needs_digit = after_newline | after_dot | signs_.later(signs, 1) | exponents_.later(c.exponents, 3);
    const Bits ends = c.blanks | c.newlines;
    Bits broken = ~(c.digits | ends | c.dots | c.exponents | signs);
    broken |= (ends | c.dots | c.exponents) & ~after_digit;
    broken |= needs_digit & ~c.digits;
    broken |= c.minuses & ~(after_blank | after_exponent);
    broken |= c.pluses & ~after_exponent;
    broken |= after_blank & ~(c.digits | c.minuses);
    // Two digits of an exponent below 30: with nine digits before or after the point, from 1e-38 to 1e38.
    broken |= after_exponent & ~signs;
    broken |= exponents_.later(c.exponents, 2) & ~c.up_to_two;
    broken |= exponents_.later(c.exponents, 4) & ~ends;
    Bits digits = c.digits;
    broken |= fractions_.ends(after_dot & c.digits, digits) & c.dots;
    digits = c.digits;
    broken |= keys_.ends(after_newline & c.digits, digits) & ~c.blanks;
    broken |= tenth_digits(digits);
    newlines_.next(c.newlines);
    digits_.next(c.digits);
    exponents_.next(c.exponents);
    dots_.next(c.dots);
    blanks_.next(c.blanks);
    signs_.next(signs);
    return broken;
  }

 private:
  /// Returns the digits that follow nine others.
  [[gnu::always_inline]] inline Bits tenth_digits(Bits digits) {
    const Bits two = digits & ones_.later(digits, 1);
    const Bits four = two & twos_.later(two, 2);
    const Bits eight = four & fours_.later(four, 4);
    const Bits ten = eight & twos_.later(two, 8);
    ones_.next(digits);
    twos_.next(two);
    fours_.next(four);
    return ten;
  }

  BitsWithCarry newlines_{Bits{1} << (block_bytes - 1)};  // a line begins where the text does
  BitsWithCarry digits_, exponents_, dots_, blanks_, signs_, ones_, twos_, fours_;
  DigitRuns fractions_, keys_;
};

/// Divides blocks into lines.
class LineEnds {
 public:
  explicit LineEnds(std::vector<ScannedLine>& lines) : lines_(lines) {}

  [[gnu::always_inline]] inline void take(const Classes& classes, Bits broken) {
    Bits line = ~Bits{0};  // bytes that are in no line of this block yet
    for (Bits newlines = classes.newlines; newlines != 0; newlines &= newlines - 1) {
      const Bits up_to = newlines ^ (newlines - 1);
      numbers_ += static_cast<std::uint32_t>(std::popcount(classes.blanks & line & up_to));
      broken_ |= broken & line & up_to;
      const std::size_t end = at_ + static_cast<std::size_t>(std::countr_zero(newlines)) + 1;
      lines_.push_back({static_cast<std::uint32_t>(end - begin_), numbers_, broken_ == 0});
      begin_ = end;
      numbers_ = 0;
      broken_ = 0;
      line &= ~up_to;
    }
    numbers_ += static_cast<std::uint32_t>(std::popcount(classes.blanks & line));
    broken_ |= broken & line;
    at_ += block_bytes;
  }

  std::size_t begin() const noexcept { return begin_; }  ///< where the incomplete line begins

 private:
  std::vector<ScannedLine>& lines_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  std::uint32_t numbers_ = 0;
  Bits broken_ = 0;
};

/// Computes the classes of `blocks` blocks.
using Classify = void (*)(const char* text, std::size_t blocks, Classes* classes);

template <Classify classify>
[[gnu::always_inline]] inline std::size_t scan(std::string_view text, std::vector<ScannedLine>& lines) {
  PlainRules rules;
  LineEnds ends(lines);
  std::array<Classes, blocks_at_once> classes;
  const auto take = [&](const char* from, std::size_t blocks) __attribute__((always_inline)) {
    classify(from, blocks, classes.data());
    for (std::size_t i = 0; i < blocks; ++i) ends.take(classes[i], rules.broken(classes[i]));
  };
  std::size_t at = 0;
  for (std::size_t blocks = text.size() / block_bytes; blocks != 0;) {
    const std::size_t now = std::min(blocks, blocks_at_once);
    take(text.data() + at, now);
    at += now * block_bytes;
    blocks -= now;
  }
  if (at < text.size()) {
    std::array<char, block_bytes> rest{};
    std::memcpy(rest.data(), text.data() + at, text.size() - at);
    take(rest.data(), 1);
  }
  return ends.begin();
}

void classify_plain(const char* text, std::size_t blocks, Classes* classes) {
  for (std::size_t block = 0; block < blocks; ++block) {
    Classes found;
    for (std::size_t i = 0; i < block_bytes; ++i) {
      const char c = text[block * block_bytes + i];
      const auto set = [&](Bits& bits, bool is) { bits |= static_cast<Bits>(is) << i; };
      set(found.digits, c >= '0' && c <= '9');
      set(found.up_to_two, c >= '0' && c <= '2');
      set(found.blanks, c == ' ');
      set(found.dots, c == '.');
      set(found.exponents, c == 'e');
      set(found.minuses, c == '-');
      set(found.pluses, c == '+');
      set(found.newlines, c == '\n');
    }
    classes[block] = found;
  }
}

std::size_t scan_plain(std::string_view text, std::vector<ScannedLine>& lines) {
  return scan<classify_plain>(text, lines);
}

#if defined(__x86_64__)

#define CKPT_AVX2 gnu::target("avx2,bmi,bmi2,popcnt")
#define CKPT_AVX512 gnu::target("avx512f,avx512bw,bmi,bmi2,popcnt")

/// Half a block, for comparisons byte by byte.
struct HalfBlock {
  __m256i bytes;

  [[CKPT_AVX2, gnu::always_inline]] static inline Bits bits(__m256i is) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(is));
  }
  [[CKPT_AVX2, gnu::always_inline]] inline Bits equal(char c) const {
    return bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c)));
  }
  [[CKPT_AVX2, gnu::always_inline]] inline Bits between(char first, char last) const {
    return bits(_mm256_and_si256(_mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(static_cast<char>(first - 1))),
                                 _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(last + 1)), bytes)));
  }
};

struct Halves {
  HalfBlock low;
  HalfBlock high;

  [[CKPT_AVX2, gnu::always_inline]] inline Bits equal(char c) const { return low.equal(c) | high.equal(c) << 32; }
  [[CKPT_AVX2, gnu::always_inline]] inline Bits between(char first, char last) const {
    return low.between(first, last) | high.between(first, last) << 32;
  }
};

[[CKPT_AVX2]] void classify_avx2(const char* text, std::size_t blocks, Classes* classes) {
  for (std::size_t block = 0; block < blocks; ++block, text += block_bytes) {
    const Halves all{{_mm256_loadu_si256(reinterpret_cast<const __m256i*>(text))},
                     {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + block_bytes / 2))}};
    classes[block] = {all.between('0', '9'), all.between('0', '2'), all.equal(' '), all.equal('.'),
                      all.equal('e'),        all.equal('-'),        all.equal('+'), all.equal('\n')};
  }
}

[[CKPT_AVX2]] std::size_t scan_avx2(std::string_view text, std::vector<ScannedLine>& lines) {
  return scan<classify_avx2>(text, lines);
}

struct WholeBlock {
  __m512i bytes;

  [[CKPT_AVX512, gnu::always_inline]] inline Bits equal(char c) const {
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
  }
  [[CKPT_AVX512, gnu::always_inline]] inline Bits between(char first, char last) const {
    return _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(first)) &
           _mm512_cmple_epi8_mask(bytes, _mm512_set1_epi8(last));
  }
};

[[CKPT_AVX512]] void classify_avx512(const char* text, std::size_t blocks, Classes* classes) {
  for (std::size_t block = 0; block < blocks; ++block, text += block_bytes) {
    const WholeBlock all{_mm512_loadu_si512(text)};
    classes[block] = {all.between('0', '9'), all.between('0', '2'), all.equal(' '), all.equal('.'),
                      all.equal('e'),        all.equal('-'),        all.equal('+'), all.equal('\n')};
  }
}

[[CKPT_AVX512]] std::size_t scan_avx512(std::string_view text, std::vector<ScannedLine>& lines) {
  return scan<classify_avx512>(text, lines);
}

#undef CKPT_AVX2
#undef CKPT_AVX512

#elif defined(__aarch64__)

/// A block as four vectors. NEON has no instruction that gathers a bit of each byte: each byte keeps the bit of its own
/// place, and three rounds of adding neighbours make a word of them.
struct Quarters {
  uint8x16x4_t bytes;

  template <class Is>
  [[gnu::always_inline]] inline Bits bits(Is is) const {
    constexpr std::uint64_t bit_of_byte = 0x8040201008040201;
    const uint8x16_t own = vreinterpretq_u8_u64(vdupq_n_u64(bit_of_byte));
    const uint8x16_t first = vpaddq_u8(vandq_u8(is(bytes.val[0]), own), vandq_u8(is(bytes.val[1]), own));
    const uint8x16_t second = vpaddq_u8(vandq_u8(is(bytes.val[2]), own), vandq_u8(is(bytes.val[3]), own));
    const uint8x16_t all = vpaddq_u8(first, second);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
  }
  [[gnu::always_inline]] inline Bits equal(char c) const {
    const uint8x16_t wanted = vdupq_n_u8(static_cast<std::uint8_t>(c));
    return bits([wanted](uint8x16_t some) { return vceqq_u8(some, wanted); });
  }
  [[gnu::always_inline]] inline Bits between(char first, char last) const {
    const uint8x16_t least = vdupq_n_u8(static_cast<std::uint8_t>(first));
    const uint8x16_t most = vdupq_n_u8(static_cast<std::uint8_t>(last));
    return bits([least, most](uint8x16_t some) { return vandq_u8(vcgeq_u8(some, least), vcleq_u8(some, most)); });
  }
};

void classify_neon(const char* text, std::size_t blocks, Classes* classes) {
  constexpr std::size_t vector_bytes = 16;
  for (std::size_t block = 0; block < blocks; ++block) {
    Quarters all{};
    for (auto& quarter : all.bytes.val) {
      quarter = vld1q_u8(reinterpret_cast<const std::uint8_t*>(text));
      text += vector_bytes;
    }
    classes[block] = {all.between('0', '9'), all.between('0', '2'), all.equal(' '), all.equal('.'),
                      all.equal('e'),        all.equal('-'),        all.equal('+'), all.equal('\n')};
  }
}

std::size_t scan_neon(std::string_view text, std::vector<ScannedLine>& lines) {
  return scan<classify_neon>(text, lines);
}

#endif

}  // namespace

std::span<const LineScanner> line_scanners() {
  static const std::vector<LineScanner> scanners = [] {
    std::vector<LineScanner> found;
#if defined(__x86_64__)
    const bool has_bits =
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (has_bits && __builtin_cpu_supports("avx512bw")) found.push_back(scan_avx512);
    if (has_bits && __builtin_cpu_supports("avx2")) found.push_back(scan_avx2);
#elif defined(__aarch64__)
    found.push_back(scan_neon);
#endif
    found.push_back(scan_plain);
    return found;
  }();
  return scanners;
}

}  // namespace ckpt
