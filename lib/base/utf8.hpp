#pragma once

#include <cstddef>
#include <string_view>

namespace ckpt {

/// One character of a text, or a byte that is part of none.
struct Character {
  char32_t code;      ///< for such a byte: 0x110000 plus the byte, which is beyond Unicode
  std::size_t bytes;  ///< length in the text

  bool is_stray_byte() const noexcept { return code >= 0x110000; }
};

/// Returns the character that starts at `at`, which is below the text's size. Overlong forms and surrogates are not
/// characters.
Character character_at(std::string_view text, std::size_t at) noexcept;

bool is_utf8(std::string_view text) noexcept;

}  // namespace ckpt
