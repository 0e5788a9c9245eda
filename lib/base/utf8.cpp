#include "base/utf8.hpp"

namespace ckpt {

Character character_at(std::string_view text, std::size_t at) noexcept {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const Character stray{char32_t{0x110000} + lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + bytes > text.size()) return stray;
  auto code = static_cast<char32_t>(lead & (0x7FU >> bytes));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80) return stray;
    code = (code << 6U) | (next & 0x3FU);
  }
  const bool is_overlong = code < (bytes == 4 ? 0x10000U : bytes == 3 ? 0x800U : 0x80U);
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  return is_overlong || is_surrogate || code > 0x10FFFF ? stray : Character{code, bytes};
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.is_stray_byte()) return false;
    at += character.bytes;
  }
  return true;
}

}  // namespace ckpt
