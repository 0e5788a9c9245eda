#include "store/narrow_numbers.hpp"

namespace ckpt {

std::optional<NarrowNumber> narrow_number(std::string_view mark) {
  const bool is_signed = !mark.starts_with('u');
  if (!is_signed) mark.remove_prefix(1);
  if (mark == "int4") return NarrowNumber{4, is_signed};
  if (mark == "int2") return NarrowNumber{2, is_signed};
  return std::nullopt;
}

void widen(const NarrowNumber& number, std::span<std::byte> bytes) {
  const auto sign = static_cast<unsigned char>(number.is_signed ? 1U << (number.bits - 1) : 0U);
  const auto mask = static_cast<unsigned char>((1U << number.bits) - 1U);
  for (std::byte& each : bytes) {
    const auto low = static_cast<unsigned char>(std::to_integer<unsigned char>(each) & mask);
    each = static_cast<std::byte>(static_cast<unsigned char>((low ^ sign) - sign));
  }
}

}  // namespace ckpt
