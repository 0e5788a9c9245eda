#include "tensor/codes.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> found;
  for (const unsigned value : values) found.push_back(static_cast<std::byte>(value));
  return found;
}

std::vector<float> looked_up(std::initializer_list<unsigned> codes, std::uint64_t first, CodePacking packing,
                             std::size_t count) {
  CodeNumbers numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  std::vector<float> out(count);
  CodeTable(packing, numbers).look_up(bytes(codes), first, out);
  return out;
}

TEST_CASE("Codes of four bits lie low or high half first, from any of them on") {
  using Numbers = std::vector<float>;
  const auto low = CodePacking::low_half_first;
  const auto high = CodePacking::high_half_first;
  CHECK(looked_up({0x21, 0x43, 0x65}, 0, low, 6) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(looked_up({0x21, 0x43, 0x65}, 1, low, 4) == Numbers{2, 3, 4, 5});
  CHECK(looked_up({0x21, 0x43}, 3, low, 1) == Numbers{4});
  CHECK(looked_up({0x21, 0x43, 0x65}, 0, high, 5) == Numbers{2, 1, 4, 3, 6});
  CHECK(looked_up({0x21, 0x43, 0x65}, 3, high, 3) == Numbers{3, 6, 5});
  CHECK(looked_up({0x21, 0x43}, 1, CodePacking::bytes, 1) == Numbers{0x43});
  CHECK(looked_up({0x21}, 0, low, 0).empty());
}

TEST_CASE("Small floats and signed bytes as numbers") {
  const CodeNumbers e2m1 = numbers_of_e2m1();
  CHECK(std::vector<float>(e2m1.begin(), e2m1.begin() + 9) == std::vector<float>{0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0});
  CHECK(std::signbit(e2m1[8]));
  CHECK(e2m1[15] == -6);
  const CodeNumbers e4m3 = numbers_of_bytes(ElementKind::f8_e4m3);
  CHECK(e4m3[1] == std::ldexp(1.0F, -9));
  CHECK(e4m3[0x7e] == 448);
  CHECK(std::isnan(e4m3[0x7f]));
  CHECK(numbers_of_bytes(ElementKind::signed_integer)[0x80] == -128);
  CHECK(e8m0_number(std::byte{127}) == 1);
  CHECK(e8m0_number(std::byte{0}) == std::ldexp(1.0F, -127));
  CHECK(e8m0_number(std::byte{254}) == std::ldexp(1.0F, 127));
}

TEST_CASE("Blocks of numbers are scaled, the first of which may have begun earlier") {
  std::vector<float> numbers{1, 1, 1, 1, 1};
  const std::vector<float> scales{2, 3};
  scale_blocks(numbers, {scales, 3, 1});
  CHECK(numbers == std::vector<float>{2, 2, 3, 3, 3});
}

}  // namespace
