#include "base/shell_word.hpp"

#include <algorithm>
#include <cctype>

namespace ckpt {

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "_-./+=:,@%";
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || plain.find(c) != std::string_view::npos;
  });
  if (is_plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace ckpt
