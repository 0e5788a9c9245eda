#include "base/base64.hpp"

#include "catch.hpp"

using namespace ckpt;
using namespace std::string_literals;

TEST_CASE("The examples of RFC 4648 in base64, and back") {
  const std::pair<std::string, std::string> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"},
                                                          {"\xff\xfe\0"s, "//4A"}};
  for (const auto& [bytes, text] : examples) {
    CAPTURE(text);
    CHECK(to_base64(bytes) == text);
    CHECK(from_base64(text) == bytes);
  }
}

TEST_CASE("Every byte at every place of a group comes back") {
  for (std::size_t before = 0; before < 3; ++before)
    for (int byte = 0; byte < 256; ++byte) {
      const std::string bytes = std::string(before, 'x') + static_cast<char>(byte);
      CHECK(from_base64(to_base64(bytes)) == bytes);
    }
}

TEST_CASE("What base64 never writes is none") {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zm8=", "Zh==", "Zm9=", "Zm 9", "Zm9\n", "-_8="})
    CHECK_FALSE(from_base64(text));
}
