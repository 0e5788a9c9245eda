#pragma once

namespace ckpt {

/// Returns whether a character is an ASCII digit, regardless of the locale.
constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Returns whether a character separates the components of a name, or the words of one.
constexpr bool is_separator(char c) noexcept {
  return c == '.' || c == '/' || c == '_';
}

}  // namespace ckpt
