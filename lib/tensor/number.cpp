#include "tensor/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

namespace ckpt {

namespace {

constexpr std::uint64_t most_shown_bytes = 16;

/// Returns an element's bits as a number, with zeros above them.
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

/// A float of a sign, an exponent and a fraction; without infinities, only the largest fraction of the largest exponent
/// is special: NaN.
struct FloatForm {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;

  int bias() const noexcept { return (1 << (exponent_bits - 1)) - 1; }
  double largest() const noexcept {
    return has_infinity ? std::ldexp(2 - std::ldexp(1.0, -fraction_bits), bias())
                        : std::ldexp(2 - std::ldexp(1.0, 1 - fraction_bits), bias() + 1);
  }
};

constexpr FloatForm half_form{5, 10, true};
constexpr FloatForm bfloat_form{8, 7, true};
constexpr FloatForm e4m3_form{4, 3, false};
constexpr FloatForm e5m2_form{5, 2, true};

double small_float(std::uint64_t bits, const FloatForm& form) {
  const int largest = (1 << form.exponent_bits) - 1;
  const auto exponent = static_cast<int>(bits >> form.fraction_bits) & largest;
  const std::uint64_t one = std::uint64_t{1} << form.fraction_bits;
  const std::uint64_t fraction = bits & (one - 1);
  const bool is_special = exponent == largest && (form.has_infinity || fraction == one - 1);
  double value = 0;
  if (is_special)
    value = form.has_infinity && fraction == 0 ? std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(double(fraction), 1 - form.bias() - form.fraction_bits);
  else
    value = std::ldexp(double(fraction + one), exponent - form.bias() - form.fraction_bits);
  return (bits >> (form.exponent_bits + form.fraction_bits) & 1) != 0 ? -value : value;
}

double double_of(const NumberFormat& format, std::uint64_t bits) {
  switch (format.kind) {
    case ElementKind::bfloat:
      return double(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)));
    case ElementKind::f8_e4m3:
      return small_float(bits, e4m3_form);
    case ElementKind::f8_e5m2:
      return small_float(bits, e5m2_form);
    default:
      break;
  }
  if (format.size == 2) return small_float(bits, half_form);
  if (format.size == 4) return double(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}

/// Returns the nearest number of a smaller format as a double; one beyond its range stays beyond it.
double nearest_of(const FloatForm& form, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), 1 - form.bias());  // subnormal numbers share the smallest exponent
  const double steps = std::nearbyint(std::ldexp(value, form.fraction_bits - exponent));
  return std::ldexp(steps, exponent - form.fraction_bits);
}

bool rounds_to(double value, const FloatForm& form, std::uint64_t bits, bool may_saturate) {
  const double found = small_float(bits, form);
  const double expected = nearest_of(form, value);
  if (std::isnan(expected)) return std::isnan(found);
  if (std::abs(expected) <= form.largest()) return expected == found;
  if (may_saturate && found == std::copysign(form.largest(), value)) return true;
  return form.has_infinity ? std::isinf(found) && std::signbit(found) == std::signbit(value) : std::isnan(found);
}

bool rounds_to(const NumberFormat& from, std::uint64_t a, const NumberFormat& to, std::uint64_t b) {
  const double value = double_of(from, a);
  switch (to.kind) {
    case ElementKind::bfloat:
      return rounds_to(value, bfloat_form, b, false);
    case ElementKind::f8_e4m3:
      return rounds_to(value, e4m3_form, b, true);
    case ElementKind::f8_e5m2:
      return rounds_to(value, e5m2_form, b, true);
    default:
      break;
  }
  if (to.size == 2) return rounds_to(value, half_form, b, false);
  const double expected = to.size == 4 ? double(static_cast<float>(value)) : value;
  const double found = double_of(to, b);
  return expected == found || (std::isnan(expected) && std::isnan(found));
}

/// Handles the most common pair with bit operations and without branches, so that the compiler can vectorize it.
bool all_round_to_bfloat(const std::byte* a, const std::byte* b, std::uint64_t count) {
  bool is_other = false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t from = 0;
    std::uint16_t to = 0;
    std::memcpy(&from, a + i * sizeof from, sizeof from);
    std::memcpy(&to, b + i * sizeof to, sizeof to);
    is_other |= (from & 0x7fffffffU) > 0x7f800000U;  // NaN
    is_other |= (from + 0x7fffU + (from >> 16 & 1U)) >> 16 != to;
  }
  return !is_other;
}

/// Returns the exact difference even if a conversion to double would round.
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

bool are_same_numbers(DType a, DType b) {
  a.native = "";
  b.native = "";
  return a.kind != ElementKind::other && a == b;
}

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

bool are_finite(const NumberFormat& format, const std::byte* elements, std::uint64_t count) {
  const auto have_exponents_below = [&](auto largest) {
    if (format.is_swapped) std::ranges::reverse(std::as_writable_bytes(std::span(&largest, 1)));
    bool are_all = true;
    for (std::uint64_t i = 0; i < count; ++i) {
      auto bits = largest;
      std::memcpy(&bits, elements + i * sizeof bits, sizeof bits);
      are_all &= (bits & largest) != largest;
    }
    return are_all;
  };
  if (format.size == 2)
    return have_exponents_below(static_cast<std::uint16_t>(format.kind == ElementKind::bfloat ? 0x7f80 : 0x7c00));
  if (format.size == 4) return have_exponents_below(std::uint32_t{0x7f800000});
  if (format.size == 8) return have_exponents_below(std::uint64_t{0x7ff0000000000000});
  for (std::uint64_t i = 0; i < count; ++i)
    if (!std::isfinite(float_value(format, elements + i * format.size))) return false;
  return true;
}

Distance distance(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b) {
  const std::uint64_t a_bits = bits_of(a_format, a);
  const std::uint64_t b_bits = bits_of(b_format, b);
  if (a_format.is_float) return float_distance(double_of(a_format, a_bits), double_of(b_format, b_bits));
  if (a_bits == b_bits) return {};
  const double difference = integer_difference(a_format, a_bits, b_bits);
  return {difference, difference / std::max(integer_magnitude(a_format, a_bits), integer_magnitude(a_format, b_bits))};
}

bool round_to(const NumberFormat& a_format, const std::byte* a, const NumberFormat& b_format, const std::byte* b,
              std::uint64_t count) {
  const bool is_usual = a_format.kind == ElementKind::ieee_float && a_format.size == 4 && !a_format.is_swapped &&
                        b_format.kind == ElementKind::bfloat && !b_format.is_swapped;
  if (is_usual && all_round_to_bfloat(a, b, count)) return true;
  for (std::uint64_t i = 0; i < count; ++i)
    if (!rounds_to(a_format, bits_of(a_format, a + i * a_format.size), b_format,
                   bits_of(b_format, b + i * b_format.size)))
      return false;
  return true;
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
