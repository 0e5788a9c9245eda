#include "store/narrow_numbers.hpp"

#include <array>
#include <tuple>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("integers of fewer than 8 bits are those of the lower bits, whatever lies above") {
  for (const auto& [mark, low, high] :
       {std::tuple{"int4", -8, 7}, std::tuple{"uint4", 0, 15}, std::tuple{"int2", -2, 1}, std::tuple{"uint2", 0, 3}}) {
    const auto number = narrow_number(mark);
    REQUIRE(number);
    for (int value = low; value <= high; ++value)
      for (unsigned above = 0; above < 256; above += 1U << number->bits) {
        const auto mask = (1U << number->bits) - 1U;
        std::array bytes{static_cast<std::byte>(above | (static_cast<unsigned>(value) & mask))};
        widen(*number, bytes);
        CHECK(std::to_integer<unsigned char>(bytes[0]) == static_cast<unsigned char>(value));
      }
  }
  for (const char* const mark : {"", "u", "int8", "qint8", "float8_e4m3", "uint16", "int4x2"})
    CHECK_FALSE(narrow_number(mark));
}
