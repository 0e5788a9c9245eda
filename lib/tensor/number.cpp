#include "tensor/number.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace ckpt {

namespace {

constexpr std::uint64_t most_shown_bytes = 16;

struct KnownFormat {
  std::string_view name;
  NumberKind kind;
  std::uint64_t size;
};

constexpr std::array known_formats{
    KnownFormat{"f16", NumberKind::f16, 2},
    KnownFormat{"bf16", NumberKind::bf16, 2},
    KnownFormat{"f32", NumberKind::f32, 4},
    KnownFormat{"f64", NumberKind::f64, 8},
    KnownFormat{"i8", NumberKind::signed_integer, 1},
    KnownFormat{"i16", NumberKind::signed_integer, 2},
    KnownFormat{"i32", NumberKind::signed_integer, 4},
    KnownFormat{"i64", NumberKind::signed_integer, 8},
    KnownFormat{"u8", NumberKind::unsigned_integer, 1},
    KnownFormat{"u16", NumberKind::unsigned_integer, 2},
    KnownFormat{"u32", NumberKind::unsigned_integer, 4},
    KnownFormat{"u64", NumberKind::unsigned_integer, 8},
    KnownFormat{"bool", NumberKind::unsigned_integer, 1},
};

/// An element's bits as a number, with zeros above them.
std::uint64_t bits_of(const NumberFormat& format, const std::byte* element) {
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < format.size; ++i) {
    const bool is_little = (std::endian::native == std::endian::little) != format.is_swapped;
    const std::uint64_t place = is_little ? i : format.size - 1 - i;
    bits |= std::to_integer<std::uint64_t>(element[i]) << (8 * place);
  }
  return bits;
}

std::int64_t signed_of(const NumberFormat& format, std::uint64_t bits) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * format.size - 1);
  return static_cast<std::int64_t>((bits ^ sign) - sign);
}

/// IEEE 754 half precision.
float half_of(std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<float>(bits & 1023);
  float value = 0;
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  else
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return (bits >> 15) != 0 ? -value : value;
}

/// Formats up to f32, which holds them exactly.
float float_of(NumberKind kind, std::uint64_t bits) {
  if (kind == NumberKind::f16) return half_of(bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(kind == NumberKind::bf16 ? bits << 16 : bits));
}

double double_of(NumberKind kind, std::uint64_t bits) {
  return kind == NumberKind::f64 ? std::bit_cast<double>(bits) : double(float_of(kind, bits));
}

/// Exact where a conversion to double would already have rounded.
double integer_difference(const NumberFormat& format, std::uint64_t a, std::uint64_t b) {
  const bool is_less =
      format.kind == NumberKind::unsigned_integer ? a < b : signed_of(format, a) < signed_of(format, b);
  if (format.kind == NumberKind::signed_integer) {
    a = static_cast<std::uint64_t>(signed_of(format, a));
    b = static_cast<std::uint64_t>(signed_of(format, b));
  }
  return double(is_less ? b - a : a - b);
}

double integer_magnitude(const NumberFormat& format, std::uint64_t bits) {
  return format.kind == NumberKind::unsigned_integer ? double(bits) : std::abs(double(signed_of(format, bits)));
}

Distance float_distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return {};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(a) || !std::isfinite(b)) return {infinity, infinity};
  const double difference = std::abs(a - b);
  return {difference, difference / std::max(std::abs(a), std::abs(b))};
}

std::string hexadecimal(const std::byte* bytes, std::uint64_t size) {
  std::string text = "0x";
  for (std::uint64_t i = 0; i < std::min(size, most_shown_bytes); ++i)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  return size > most_shown_bytes ? text + "…" : text;
}

}  // namespace

std::optional<NumberFormat> number_format(const DType& dtype) {
  constexpr bool is_little = std::endian::native == std::endian::little;
  std::string_view name = dtype.name;
  const bool is_big = name.ends_with("be");
  if (is_big) name.remove_suffix(2);
  for (const KnownFormat& known : known_formats)
    if (name == known.name && dtype.size == known.size)
      return NumberFormat{known.kind, known.size, known.size > 1 && is_big == is_little};
  return std::nullopt;
}

Distance distance(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b) {
  const std::uint64_t a_bits = bits_of(a_format, a);
  const std::uint64_t b_bits = bits_of(b_format, b);
  if (a_format.is_float()) return float_distance(double_of(a_format.kind, a_bits), double_of(b_format.kind, b_bits));
  if (a_bits == b_bits) return {};
  const double difference = integer_difference(a_format, a_bits, b_bits);
  return {difference, difference / std::max(integer_magnitude(a_format, a_bits), integer_magnitude(a_format, b_bits))};
}

std::string element_text(const DType& dtype, const std::byte* element) {
  const auto format = number_format(dtype);
  if (!format) return hexadecimal(element, dtype.size);
  const std::uint64_t bits = bits_of(*format, element);
  switch (format->kind) {
    case NumberKind::signed_integer:
      return std::to_string(signed_of(*format, bits));
    case NumberKind::unsigned_integer:
      return std::to_string(bits);
    case NumberKind::f64:
      return fmt::format("{}", double_of(NumberKind::f64, bits));
    default:
      return fmt::format("{}", float_of(format->kind, bits));
  }
}

}  // namespace ckpt
