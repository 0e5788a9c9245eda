#include "base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "base/utf8.hpp"

namespace ckpt {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

/// Characters beyond ASCII that a terminal obeys or does not show: Unicode's control and format characters, line and
/// paragraph separators, and everything that is ignorable by default.
constexpr std::array<Range, 29> unseen{
    {{0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},      {0x61c, 0x61c},
     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},      {0x115f, 0x1160},
     {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},    {0x2060, 0x206f},
     {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},    {0xfff0, 0xfffb},
     {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},  {0x1bca0, 0x1bca3},
     {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0xfffff}, {0x100000, 0x10ffff}}};

bool is_unseen(char32_t code) {
  const auto* const range =
      std::lower_bound(unseen.begin(), unseen.end(), code, [](const Range& r, char32_t c) { return r.last < c; });
  return range != unseen.end() && range->first <= code;
}

bool is_control(char32_t code) {
  return code < 0x20 || code == 0x7f;
}

std::string formatted(const char* format, std::uint32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/// Returns whether the text after a backslash would make it an escape.
bool makes_escape(std::string_view rest) {
  return rest.starts_with("u{") || (rest.size() > 2 && rest[0] == 'x' && is_hex(rest[1]) && is_hex(rest[2]));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::string_view bytes = text.substr(at, character.bytes);
    at += character.bytes;
    const bool is_ambiguous = character.code == '\\' && makes_escape(text.substr(at));
    if (is_control(character.code) || character.is_stray_byte() || is_ambiguous)
      shown += formatted("\\x%02x", static_cast<unsigned char>(bytes[0]));
    else if (is_unseen(character.code))
      shown += formatted("\\u{%x}", character.code);
    else
      shown += bytes;
  }
  return shown;
}

std::string printable_json(std::string_view json) {
  std::string shown;
  shown.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const auto rest = json.begin() + static_cast<std::ptrdiff_t>(at);
    const auto plain = std::find_if(rest, json.end(), [](char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
    shown.append(rest, plain);  // char is signed: anything beyond ASCII is below 0
    at += static_cast<std::size_t>(plain - rest);
    if (at == json.size()) break;
    const Character character = character_at(json, at);
    const std::string_view bytes = json.substr(at, character.bytes);
    at += character.bytes;
    if (character.code == '\n' || (!is_control(character.code) && !is_unseen(character.code))) {
      shown += bytes;
    } else if (character.code < 0x10000) {
      shown += formatted("\\u%04x", character.code);
    } else {  // a pair of surrogates
      shown += formatted("\\u%04x", 0xd800 + ((character.code - 0x10000) >> 10U));
      shown += formatted("\\u%04x", 0xdc00 + ((character.code - 0x10000) & 0x3ffU));
    }
  }
  return shown;
}

}  // namespace ckpt
