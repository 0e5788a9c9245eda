#include "store/mindspore/text.hpp"

#include <bit>
#include <cstring>

#include "base/utf8.hpp"

namespace ckpt::mindspore {

namespace {

constexpr std::uint64_t most_text_content = 64U << 20;

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto put_rest = [&](unsigned shift) { put(0x80U | (code >> shift & 0x3fU)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0U | code >> 6U);
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12U);
    put_rest(6);
  } else {
    put(0xf0U | code >> 18U);
    put_rest(12);
    put_rest(6);
  }
  put_rest(0);
}

}  // namespace

std::string read_text(const PosixFile& file, protobuf::Range content) {
  static_assert(std::endian::native == std::endian::little);
  if (content.size() % sizeof(char32_t) != 0 || content.size() > most_text_content)
    throw Error(Kind::input, "",
                {"a text of " + std::to_string(content.size()) + " bytes", "4 for each character, at most 64 MiB", ""});
  std::u32string codes(content.size() / sizeof(char32_t), U'\0');
  file.read(content.begin, std::as_writable_bytes(std::span(codes)));
  codes.resize(codes.find_last_not_of(U'\0') + 1);
  std::string text;
  for (const char32_t code : codes) {
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (code >= 0x110000 || is_surrogate)
      throw Error(Kind::input, "", {"a text with the character " + std::to_string(code), "UTF-32", ""});
    append_utf8(text, code);
  }
  return text;
}

std::string utf32(const std::string& text) {
  std::string content;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    content.append(reinterpret_cast<const char*>(&character.code), sizeof character.code);
    at += character.bytes;
  }
  return content.empty() ? std::string(sizeof(char32_t), '\0') : content;
}

}  // namespace ckpt::mindspore
