#include "io/crc.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t window_bytes = 1U << 18;  // stays in the core's cache

/// Bit i of a polynomial is the coefficient of x^(31 - i).
constexpr std::uint32_t times_x(std::uint32_t a, std::uint32_t polynomial) {
  return (a >> 1U) ^ ((a & 1U) != 0 ? polynomial : 0);
}

/// The product of two polynomials modulo the third.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b, std::uint32_t polynomial) {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) result ^= b;
    b = times_x(b, polynomial);
  }
  return result;
}

constexpr std::size_t word_bytes = 8;

}  // namespace

namespace {

/// Sixteen bytes are a polynomial, whose first bit belongs to x^127. A product of two words without carries is one of
/// degree 127, too, if one of its factors lacks a power of x.
constexpr std::size_t lane_bytes = 16;
constexpr std::size_t lanes = 8;  // side by side: a product takes several cycles, and one can begin in each
constexpr std::size_t step_bytes = lanes * lane_bytes;

}  // namespace

/// The constants for sums of one polynomial.
struct CrcNumbers {
  constexpr explicit CrcNumbers(std::uint32_t of) : polynomial(of) {
    powers[0] = 1U << 30U;
    for (std::size_t n = 1; n < powers.size(); ++n) powers[n] = product(powers[n - 1], powers[n - 1], polynomial);
    for (std::uint32_t byte = 0; byte < tables[0].size(); ++byte) {
      std::uint32_t sum = byte;
      for (std::size_t bit = 0; bit < 8 * word_bytes; ++bit) {
        sum = times_x(sum, polynomial);
        if (bit % 8 == 7) tables[bit / 8][byte] = sum;
      }
    }
    by_step = factors(step_bytes);
    by_lane = factors(lane_bytes);
  }

  constexpr std::uint32_t power(std::uint64_t exponent, std::size_t step = 0) const {
    std::uint32_t result = 1U << 31U;
    for (std::size_t n = step; exponent != 0; exponent >>= 1U, ++n)
      if ((exponent & 1U) != 0) result = product(result, powers[n], polynomial);
    return result;
  }

  /// What moves a lane by this many bytes: factors of its first word and its second one.
  constexpr std::array<std::uint64_t, 2> factors(std::size_t bytes) const {
    return {std::uint64_t{power(8 * bytes + 63)} << 32U, std::uint64_t{power(8 * bytes - 1)} << 32U};
  }

  std::uint32_t polynomial;
  /// x^(2^n). A run of fewer than 2^64 bytes has a number of bits with at most 67 binary digits.
  std::array<std::uint32_t, 67> powers{};
  /// tables[n][b]: what byte b becomes when n zero bytes follow it.
  std::array<std::array<std::uint32_t, 256>, word_bytes> tables{};
  std::array<std::uint64_t, 2> by_step{};
  std::array<std::uint64_t, 2> by_lane{};
};

namespace {

std::uint32_t by_table(const CrcNumbers& numbers, std::uint32_t sum, const std::byte* at, std::size_t count) {
  const auto& tables = numbers.tables;
  if constexpr (std::endian::native == std::endian::little)
    for (; count >= word_bytes; count -= word_bytes, at += word_bytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof word);
      word ^= sum;
      sum = 0;
      for (std::size_t i = 0; i < word_bytes; ++i) sum ^= tables[word_bytes - 1 - i][word >> (8 * i) & 0xffU];
    }
  for (; count > 0; --count, ++at) sum = tables[0][(sum ^ std::to_integer<std::uint32_t>(*at)) & 0xffU] ^ (sum >> 8U);
  return sum;
}

#if defined(__x86_64__)
#define CKPT_HAS_PRODUCTS __attribute__((target("pclmul,sse2")))

using Bits = __m128i;

CKPT_HAS_PRODUCTS inline Bits load(const void* at) {
  return _mm_loadu_si128(static_cast<const Bits*>(at));
}

CKPT_HAS_PRODUCTS inline void store(void* at, Bits bits) {
  _mm_storeu_si128(static_cast<Bits*>(at), bits);
}

CKPT_HAS_PRODUCTS inline Bits sum_of(Bits a, Bits b) {
  return _mm_xor_si128(a, b);
}

CKPT_HAS_PRODUCTS inline Bits moved(Bits lane, Bits factors) {
  return sum_of(_mm_clmulepi64_si128(lane, factors, 0x00), _mm_clmulepi64_si128(lane, factors, 0x11));
}

bool has_products() {
  return __builtin_cpu_supports("pclmul") != 0;
}
#elif defined(__aarch64__)
#define CKPT_HAS_PRODUCTS __attribute__((target("+crypto")))  // PMULL: "+aes" does not suffice for g++ 12

using Bits = uint64x2_t;

CKPT_HAS_PRODUCTS inline Bits load(const void* at) {
  return vreinterpretq_u64_u8(vld1q_u8(static_cast<const std::uint8_t*>(at)));
}

CKPT_HAS_PRODUCTS inline void store(void* at, Bits bits) {
  vst1q_u8(static_cast<std::uint8_t*>(at), vreinterpretq_u8_u64(bits));
}

CKPT_HAS_PRODUCTS inline Bits sum_of(Bits a, Bits b) {
  return veorq_u64(a, b);
}

CKPT_HAS_PRODUCTS inline Bits moved(Bits lane, Bits factors) {
  return sum_of(vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64(lane, 0), vgetq_lane_u64(factors, 0))),
                vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(lane), vreinterpretq_p64_u64(factors))));
}

bool has_products() {
  return (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
}
#endif

#if defined(CKPT_HAS_PRODUCTS)
/// After Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (2009).
CKPT_HAS_PRODUCTS std::uint32_t by_products(const CrcNumbers& numbers, std::uint32_t sum, const std::byte* at,
                                            std::size_t count) {
  if (count < 2 * step_bytes) return by_table(numbers, sum, at, count);
  struct Lane {
    Bits bits;
  };
  std::array<Lane, lanes> all;
  for (std::size_t i = 0; i < lanes; ++i) all[i].bits = load(at + i * lane_bytes);
  const std::array<std::uint64_t, 2> before{sum, 0};
  all[0].bits = sum_of(all[0].bits, load(before.data()));
  at += step_bytes;
  count -= step_bytes;
  const Bits by_step = load(numbers.by_step.data());
  for (; count >= step_bytes; count -= step_bytes, at += step_bytes)
    for (std::size_t i = 0; i < lanes; ++i)
      all[i].bits = sum_of(moved(all[i].bits, by_step), load(at + i * lane_bytes));
  const Bits by_lane = load(numbers.by_lane.data());
  for (std::size_t i = 1; i < lanes; ++i) all[i].bits = sum_of(moved(all[i - 1].bits, by_lane), all[i].bits);
  std::array<std::byte, lane_bytes> rest{};
  store(rest.data(), all.back().bits);
  return by_table(numbers, by_table(numbers, 0, rest.data(), rest.size()), at, count);
}

std::uint32_t continued(const CrcNumbers& numbers, std::uint32_t sum, const std::byte* at, std::size_t count) {
  static const bool is_quick = has_products();
  return is_quick ? by_products(numbers, sum, at, count) : by_table(numbers, sum, at, count);
}
#undef CKPT_HAS_PRODUCTS
#else
std::uint32_t continued(const CrcNumbers& numbers, std::uint32_t sum, const std::byte* at, std::size_t count) {
  return by_table(numbers, sum, at, count);
}
#endif

std::string hex(std::uint32_t sum) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(8, '0');
  for (std::size_t i = text.size(); i-- > 0; sum >>= 4U) text[i] = digits[sum & 15U];
  return text;
}

constexpr CrcNumbers numbers_of_crc32(0xedb88320);
constexpr CrcNumbers numbers_of_crc32c(0x82f63b78);

}  // namespace

constexpr Crc crc32("CRC-32", numbers_of_crc32);
constexpr Crc crc32c("CRC-32C", numbers_of_crc32c);

std::uint32_t Crc::of(std::span<const std::byte> bytes, std::uint32_t before) const {
  return ~continued(*numbers_, ~before, bytes.data(), bytes.size());
}

std::uint32_t Crc::of(std::string_view bytes, std::uint32_t before) const {
  return of(std::as_bytes(std::span(bytes)), before);
}

std::uint32_t Crc::of(const PosixFile& file, Interval bytes) const {
  std::vector<std::byte> window(std::min(bytes.size(), window_bytes));
  std::uint32_t sum = 0;
  for (std::uint64_t at = bytes.lo; at < bytes.hi; at += window.size()) {
    check_interrupt();
    const auto part = std::span(window).first(std::min<std::uint64_t>(window.size(), bytes.hi - at));
    file.read(at, part);
    sum = of(part, sum);
  }
  return sum;
}

std::uint32_t Crc::joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) const {
  constexpr std::size_t bits_of_byte = 3;
  return product(first, numbers_->power(second_bytes, bits_of_byte), numbers_->polynomial) ^ second;
}

void Crc::check(std::uint32_t found, std::uint32_t written, std::string_view object) const {
  if (found == written) return;
  throw Error(Kind::input, object,
              {"its bytes have the " + std::string(name_) + " " + hex(found),
               hex(written) + ", which was written with them", "the file is damaged: take another copy of it"});
}

}  // namespace ckpt
