#pragma once

#include <cstddef>
#include <string_view>

namespace ckpt {

/// One character of a text, or a byte that belongs to none.
struct Character {
  char32_t code;      ///< of such a byte: 0x110000 and the byte, which is beyond Unicode
  std::size_t bytes;  ///< that it takes

  bool is_stray_byte() const noexcept { return code >= 0x110000; }
};

/// The character that starts at `at`, which is below the text's size. Overlong forms and surrogates are no characters.
Character character_at(std::string_view text, std::size_t at) noexcept;

bool is_utf8(std::string_view text) noexcept;

}  // namespace ckpt
