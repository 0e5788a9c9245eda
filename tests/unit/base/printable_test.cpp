#include "base/printable.hpp"

#include <map>
#include <vector>

#include "base/utf8.hpp"
#include "catch.hpp"

using namespace ckpt;
using namespace std::string_literals;

TEST_CASE("what a terminal obeys is shown escaped, all else as it is") {
  CHECK(printable("a b-c/ü é … 漢 😀 layers.0[*]{x}") == "a b-c/ü é … 漢 😀 layers.0[*]{x}");
  CHECK(printable("\x1b[2J\x07\x7f\r") == "\\x1b[2J\\x07\\x7f\\x0d");
  CHECK(printable("w\nckpt-merge: wrote x\tdone") == "w\\x0ackpt-merge: wrote x\\x09done");
  CHECK(printable("a\0b"s) == "a\\x00b");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\u{9b}2J");  // ESC [ as one character
  CHECK(printable("\x9b"
                  "2J") == "\\x9b2J");                             // and as one byte of an older terminal
  CHECK(printable("w\u202etxt.5h") == "w\\u{202e}txt.5h");         // reads backwards
  CHECK(printable("a\u2028b\u2029c") == "a\\u{2028}b\\u{2029}c");  // line and paragraph separators
  CHECK(printable("a\u200bb\u200db\ufeff\u00ad") == "a\\u{200b}b\\u{200d}b\\u{feff}\\u{ad}");  // without width
  CHECK(printable("a\U000E0041b") == "a\\u{e0041}b");                                          // a tag
}

TEST_CASE("bytes that are not UTF-8 are shown one by one") {
  CHECK(printable("\xc3") == "\\xc3");
  CHECK(printable("a\xe2\x80") == "a\\xe2\\x80");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xe0\x80\x8a") == "\\xe0\\x80\\x8a");           // a newline in three bytes
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  for (const char* text : {"\xc3", "a\xe2\x80", "\xed\xa0\x80", "\xe0\x80\x8a", "\xf4\x90\x80\x80", "\xc0\x80", "\xf8"})
    CHECK_FALSE(is_utf8(text));
  for (const char* text : {"", "a", "é", "漢", "😀", "\xf4\x8f\xbf\xbf", "\xee\x80\x80"}) CHECK(is_utf8(text));
}

TEST_CASE("no two texts are shown alike") {
  CHECK(printable("a\\b\\n \\\"") == "a\\b\\n \\\"");
  CHECK(printable("a\\x1b") == "a\\x5cx1b");
  CHECK(printable("a\\u{202e}") == "a\\x5cu{202e}");
  CHECK(printable("\\\x1b") == "\\\\x1b");
  // All texts of up to five of these pieces, from which escapes can be made in many ways.
  const std::vector<std::string> pieces{"\\", "x", "1", "b", "u{", "}", "\x1b", "\u202e"};
  std::map<std::string, std::string> known;
  std::vector<std::string> texts{""};
  for (int length = 0; length < 5; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : texts)
      for (const std::string& piece : pieces) longer.push_back(text + piece);
    texts = std::move(longer);
    for (const std::string& text : texts) {
      const auto [other, is_new] = known.emplace(printable(text), text);
      if (!is_new && other->second != text) FAIL("shown alike: " << other->first);
    }
  }
}

TEST_CASE("JSON text keeps its meaning") {
  CHECK(printable_json("{\n \"a\": \"é\u202e\u2028\x7f\xc2\x9b\"\n}\n") ==
        "{\n \"a\": \"é\\u202e\\u2028\\u007f\\u009b\"\n}\n");
  CHECK(printable_json("\"\U000E0041\"") == "\"\\udb40\\udc41\"");
}
