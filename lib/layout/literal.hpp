#pragma once

#include <string>

namespace ckpt {

/// Whether a character begins something else than itself in a pattern.
constexpr bool begins_pattern(char c) {
  return c == '*' || c == '?' || c == '[' || c == '{';
}

/// A pattern that matches this name alone: "a*b" → "a[*]b".
std::string literal(const std::string& name);

}  // namespace ckpt
