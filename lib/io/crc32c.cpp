#include "io/crc32c.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/interrupt.hpp"

namespace ckpt {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // bit i is the coefficient of x^(31 - i)
constexpr std::uint64_t window_bytes = 1U << 18;  // stays in the core's cache

constexpr std::array<std::uint32_t, 256> table_of_bytes() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? polynomial : 0);
    table[byte] = sum;
  }
  return table;
}

/// The product of two polynomials modulo Castagnoli's.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) result ^= b;
    b = (b >> 1U) ^ ((b & 1U) != 0 ? polynomial : 0);
  }
  return result;
}

/// x^(2^n), for n below 67: the number of bits of a 64-bit number of bytes has as many digits.
constexpr std::array<std::uint32_t, 67> powers_of_x() {
  std::array<std::uint32_t, 67> powers{};
  powers[0] = 1U << 30U;
  for (std::size_t n = 1; n < powers.size(); ++n) powers[n] = product(powers[n - 1], powers[n - 1]);
  return powers;
}

std::uint32_t by_table(std::uint32_t sum, const std::byte* at, std::size_t count) {
  static constexpr std::array<std::uint32_t, 256> table = table_of_bytes();
  for (; count > 0; --count, ++at) sum = table[(sum ^ std::to_integer<std::uint32_t>(*at)) & 0xffU] ^ (sum >> 8U);
  return sum;
}

#if defined(__x86_64__)
/// Bytes of each of three runs that are summed side by side: an instruction takes three cycles, and one can begin in
/// each.
constexpr std::size_t lane_bytes = 4096;
constexpr std::size_t lane_power = 15;  // lane_bytes are 2^15 bits

__attribute__((target("sse4.2,crc32"))) std::uint32_t by_instruction(std::uint32_t sum, const std::byte* at,
                                                                     std::size_t count) {
  static constexpr std::uint32_t lane = powers_of_x()[lane_power];
  const auto word_at = [](const std::byte* place) {
    std::uint64_t word = 0;
    std::memcpy(&word, place, sizeof word);
    return word;
  };
  for (; count >= 3 * lane_bytes; count -= 3 * lane_bytes, at += 3 * lane_bytes) {
    std::uint64_t first = sum;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < lane_bytes; i += sizeof first) {
      first = __builtin_ia32_crc32di(first, word_at(at + i));
      second = __builtin_ia32_crc32di(second, word_at(at + lane_bytes + i));
      third = __builtin_ia32_crc32di(third, word_at(at + 2 * lane_bytes + i));
    }
    sum = product(lane, static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
    sum = product(lane, sum) ^ static_cast<std::uint32_t>(third);
  }
  std::uint64_t wide = sum;
  for (; count >= sizeof wide; count -= sizeof wide, at += sizeof wide)
    wide = __builtin_ia32_crc32di(wide, word_at(at));
  sum = static_cast<std::uint32_t>(wide);
  for (; count > 0; --count, ++at) sum = __builtin_ia32_crc32qi(sum, std::to_integer<std::uint8_t>(*at));
  return sum;
}

std::uint32_t continued(std::uint32_t sum, const std::byte* at, std::size_t count) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return has_instruction ? by_instruction(sum, at, count) : by_table(sum, at, count);
}
#else
std::uint32_t continued(std::uint32_t sum, const std::byte* at, std::size_t count) {
  return by_table(sum, at, count);
}
#endif

}  // namespace

std::uint32_t crc32c_of(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~continued(~before, bytes.data(), bytes.size());
}

std::uint32_t crc32c_of(std::string_view bytes, std::uint32_t before) {
  return crc32c_of(std::as_bytes(std::span(bytes)), before);
}

std::uint32_t crc32c_of(const PosixFile& file, Interval bytes) {
  std::vector<std::byte> window(std::min(bytes.size(), window_bytes));
  std::uint32_t sum = 0;
  for (std::uint64_t at = bytes.lo; at < bytes.hi; at += window.size()) {
    check_interrupt();
    const auto part = std::span(window).first(std::min<std::uint64_t>(window.size(), bytes.hi - at));
    file.read(at, part);
    sum = crc32c_of(part, sum);
  }
  return sum;
}

std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  static constexpr std::array<std::uint32_t, 67> powers = powers_of_x();
  constexpr std::size_t bits_of_byte = 3;
  for (std::size_t n = 0; n < 64; ++n)
    if ((second_bytes >> n & 1U) != 0) first = product(powers[n + bits_of_byte], first);
  return first ^ second;
}

}  // namespace ckpt
