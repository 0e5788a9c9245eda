#pragma once

#include <string>

namespace ckpt {

/// Returns whether a character begins a special form in a pattern.
constexpr bool begins_pattern(char c) {
  return c == '*' || c == '?' || c == '[' || c == '{';
}

/// Returns a pattern that matches only this name: "a*b" → "a[*]b".
std::string literal(const std::string& name);

}  // namespace ckpt
