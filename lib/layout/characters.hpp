#pragma once

namespace ckpt {

/// A digit of a number in names, in every locale.
constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// What a name's components, and the words of one, stand between.
constexpr bool is_separator(char c) noexcept {
  return c == '.' || c == '/' || c == '_';
}

}  // namespace ckpt
