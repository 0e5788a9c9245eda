#include "base/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace ckpt {

bool is_terminal(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool shows_colours(int descriptor) {
  const char* const no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && is_terminal(descriptor);
}

std::string inked(Ink ink, std::string_view text) {
  const char* const code = ink == Ink::bold ? "1" : ink == Ink::red ? "1;31" : "1;33";
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string with_bold_headings(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool is_heading = line.ends_with(':') && std::isspace(static_cast<unsigned char>(line.front())) == 0;
    result += is_heading ? inked(Ink::bold, line) : std::string(line);
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace ckpt
