#include "layout/literal.hpp"

namespace ckpt {

std::string literal(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool is_special = c == '*' || c == '?' || c == '[' || c == '{';
    text += is_special ? std::string{'[', c, ']'} : std::string{c};
  }
  return text;
}

}  // namespace ckpt
