#include "io/crc.hpp"

#include <string>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("CRC-32 and CRC-32C have the values of their standards") {
  CHECK(crc32.of("") == 0);
  CHECK(crc32.of("123456789") == 0xcbf43926);
  CHECK(crc32c.of("") == 0);
  CHECK(crc32c.of("123456789") == 0xe3069283);
  CHECK(crc32c.of(std::string(32, '\0')) == 0x8a9136aa);  // RFC 3720
  CHECK(crc32c.of(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("the sum of two runs follows from their own, wherever they are cut") {
  std::string bytes;
  for (int i = 0; i < 40000; ++i) bytes.push_back(static_cast<char>(i * 37 + i / 7));
  const std::string_view all = bytes;
  for (const Crc& crc : {crc32, crc32c}) {
    std::uint32_t whole = 0;  // a byte at a time
    for (const char& byte : bytes) whole = crc.of(std::string_view(&byte, 1), whole);
    CHECK(crc.of(bytes) == whole);
    for (std::size_t cut = 0; cut <= bytes.size(); cut += 997) {
      const std::uint32_t first = crc.of(all.substr(0, cut));
      const std::string_view rest = all.substr(cut);
      CHECK(crc.of(rest, first) == whole);
      CHECK(crc.joined(first, crc.of(rest), rest.size()) == whole);
    }
  }
}

TEST_CASE("runs of every length up to some steps of the fast way have the sum of their bytes") {
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes.push_back(static_cast<char>(i * i + 3));
  for (const Crc& crc : {crc32, crc32c}) {
    std::uint32_t sum = 0;
    for (std::size_t count = 0; count < bytes.size(); ++count) {
      CHECK(crc.of(std::string_view(bytes).substr(0, count)) == sum);
      sum = crc.of(std::string_view(&bytes[count], 1), sum);
    }
  }
}

TEST_CASE("runs longer than 4 GiB are joined as shorter ones are") {
  // Zeros of 2^33 bytes, put together from halves.
  std::uint32_t zeros = crc32c.of(std::string(1U << 20, '\0'));
  for (unsigned n = 20; n < 33; ++n) zeros = crc32c.joined(zeros, zeros, 1ULL << n);
  std::uint32_t other = crc32c.of(std::string(1U << 10, '\0'));
  const std::uint32_t step = other;
  for (unsigned n = 10; n < 32; ++n) other = crc32c.joined(other, other, 1ULL << n);
  CHECK(crc32c.joined(other, other, 1ULL << 32) == zeros);
  CHECK(step != zeros);
}
