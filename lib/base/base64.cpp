#include "base/base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ckpt {

namespace {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 64;
constexpr std::size_t group_bytes = 3;
constexpr std::size_t group_digits = 4;

constexpr std::array<std::uint8_t, 256> values_of_digits() {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  for (std::size_t i = 0; i < base64_digits.size(); ++i)
    values[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr auto value_of = values_of_digits();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + group_bytes - 1) / group_bytes * group_digits);
  for (std::size_t at = 0; at < bytes.size(); at += group_bytes) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < group_bytes; ++i)
      group = group << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < group_digits; ++i)
      text += at + i > bytes.size() ? '=' : base64_digits[group >> (6 * (group_digits - 1 - i)) & 63U];
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % group_digits != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / group_digits * group_bytes);
  for (std::size_t at = 0; at < text.size(); at += group_digits) {
    const std::size_t given = std::min(text.substr(at, group_digits).find('='), group_digits);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < group_digits; ++i) {
      const std::uint8_t value = i < given ? value_of[static_cast<unsigned char>(text[at + i])] : std::uint8_t{0};
      if (value == no_digit) return std::nullopt;
      group = group << 6U | value;
    }
    for (std::size_t i = 0; i + 1 < given; ++i) bytes += static_cast<char>(group >> (8 * (group_bytes - 1 - i)) & 255U);
  }
  // Other texts decode to the same bytes: with padding inside, a group of one digit, or bits that belong to no byte.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace ckpt
