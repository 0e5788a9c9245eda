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

/// A float of a sign, an exponent and a fraction; without infinities only the largest fraction of the largest exponent
/// is special: NaN.
double small_float(std::uint64_t bits, int exponent_bits, int fraction_bits, bool has_infinity) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int largest = (1 << exponent_bits) - 1;
  const auto exponent = static_cast<int>(bits >> fraction_bits) & largest;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const bool is_special = exponent == largest && (has_infinity || fraction == (std::uint64_t{1} << fraction_bits) - 1);
  double value = 0;
  if (is_special)
    value = has_infinity && fraction == 0 ? std::numeric_limits<double>::infinity()
                                          : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(double(fraction), 1 - bias - fraction_bits);
  else
    value = std::ldexp(double(fraction + (std::uint64_t{1} << fraction_bits)), exponent - bias - fraction_bits);
  return (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -value : value;
}

double double_of(const NumberFormat& format, std::uint64_t bits) {
  switch (format.kind) {
    case ElementKind::bfloat:
      return double(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)));
    case ElementKind::f8_e4m3:
      return small_float(bits, 4, 3, false);
    case ElementKind::f8_e5m2:
      return small_float(bits, 5, 2, true);
    default:
      break;
  }
  if (format.size == 2) return small_float(bits, 5, 10, true);
  if (format.size == 4) return double(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}

/// Exact where a conversion to double would already have rounded.
double integer_difference(const NumberFormat& format, std::uint64_t a, std::uint64_t b) {
  const bool is_signed = format.kind == ElementKind::signed_integer;
  const bool is_less = is_signed ? signed_of(format, a) < signed_of(format, b) : a < b;
  if (is_signed) {
    a = static_cast<std::uint64_t>(signed_of(format, a));
    b = static_cast<std::uint64_t>(signed_of(format, b));
  }
  return double(is_less ? b - a : a - b);
}

double integer_magnitude(const NumberFormat& format, std::uint64_t bits) {
  return format.kind == ElementKind::signed_integer ? std::abs(double(signed_of(format, bits))) : double(bits);
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
  if (!number_type(dtype.kind, dtype.size) || dtype.kind == ElementKind::complex) return std::nullopt;
  const ByteOrder native = std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;
  return NumberFormat{dtype.kind, dtype.size, dtype.size > 1 && dtype.order != native, dtype.is_float()};
}

std::int64_t signed_value(const NumberFormat& format, const std::byte* element) {
  return signed_of(format, bits_of(format, element));
}

std::uint64_t unsigned_value(const NumberFormat& format, const std::byte* element) {
  return bits_of(format, element);
}

double float_value(const NumberFormat& format, const std::byte* element) {
  return double_of(format, bits_of(format, element));
}

Distance distance(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b) {
  const std::uint64_t a_bits = bits_of(a_format, a);
  const std::uint64_t b_bits = bits_of(b_format, b);
  if (a_format.is_float) return float_distance(double_of(a_format, a_bits), double_of(b_format, b_bits));
  if (a_bits == b_bits) return {};
  const double difference = integer_difference(a_format, a_bits, b_bits);
  return {difference, difference / std::max(integer_magnitude(a_format, a_bits), integer_magnitude(a_format, b_bits))};
}

std::string element_text(const DType& dtype, const std::byte* element) {
  const auto format = number_format(dtype);
  if (!format) return hexadecimal(element, dtype.size);
  const std::uint64_t bits = bits_of(*format, element);
  if (format->kind == ElementKind::signed_integer) return std::to_string(signed_of(*format, bits));
  if (!format->is_float) return std::to_string(bits);
  const double value = double_of(*format, bits);
  return format->size == sizeof(double) ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

}  // namespace ckpt
