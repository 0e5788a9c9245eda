#pragma once

#include <string>

namespace ckpt {

/// A pattern that matches this name alone: "a*b" → "a[*]b".
std::string literal(const std::string& name);

}  // namespace ckpt
