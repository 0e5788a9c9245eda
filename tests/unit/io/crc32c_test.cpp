#include "io/crc32c.hpp"

#include <string>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("CRC-32C has the values of RFC 3720") {
  CHECK(crc32c_of("") == 0);
  CHECK(crc32c_of("123456789") == 0xe3069283);
  CHECK(crc32c_of(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c_of(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("the CRC-32C of two runs follows from their own, wherever they are cut") {
  std::string bytes;
  for (int i = 0; i < 40000; ++i) bytes.push_back(static_cast<char>(i * 37 + i / 7));
  std::uint32_t whole = 0;  // a byte at a time
  for (const char& byte : bytes) whole = crc32c_of(std::string_view(&byte, 1), whole);
  CHECK(crc32c_of(bytes) == whole);
  const std::string_view all = bytes;
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 997) {
    const std::uint32_t first = crc32c_of(all.substr(0, cut));
    const std::string_view rest = all.substr(cut);
    CHECK(crc32c_of(rest, first) == whole);
    CHECK(crc32c_joined(first, crc32c_of(rest), rest.size()) == whole);
  }
}

TEST_CASE("runs longer than 4 GiB are joined as shorter ones are") {
  // Zeros of 2^33 bytes, put together from halves.
  std::uint32_t zeros = crc32c_of(std::string(1U << 20, '\0'));
  for (unsigned n = 20; n < 33; ++n) zeros = crc32c_joined(zeros, zeros, 1ULL << n);
  std::uint32_t other = crc32c_of(std::string(1U << 10, '\0'));
  const std::uint32_t step = other;
  for (unsigned n = 10; n < 32; ++n) other = crc32c_joined(other, other, 1ULL << n);
  CHECK(crc32c_joined(other, other, 1ULL << 32) == zeros);
  CHECK(step != zeros);
}
