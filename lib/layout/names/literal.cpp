#include "layout/names/literal.hpp"

namespace ckpt {

std::string literal(const std::string& name) {
  std::string text;
  for (const char c : name) text += begins_pattern(c) ? std::string{'[', c, ']'} : std::string{c};
  return text;
}

}  // namespace ckpt
