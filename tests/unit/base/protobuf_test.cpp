#include "base/protobuf.hpp"

#include "catch.hpp"
#include "refused.hpp"

namespace ckpt::protobuf {
namespace {

using Catch::Matchers::Contains;

std::vector<Field> fields_of(const std::string& text) {
  Reader reader(text);
  std::vector<Field> fields;
  reader.for_each_field({0, text.size()}, [&](const Field& field) { fields.push_back(field); });
  return fields;
}

TEST_CASE("Fields are read as they were written") {
  std::string text;
  put_number(text, 1, 300);
  put_fixed64(text, 2, 0x0102030405060708U);
  put_bytes(text, 16, std::string(5000, 'x') + "end");
  put_number(text, 3, ~std::uint64_t{0});
  const auto fields = fields_of(text);
  REQUIRE(fields.size() == 4);
  CHECK(fields[0].value == 300);
  CHECK(fields[1].value == 0x0102030405060708U);
  CHECK(fields[2].number == 16);
  CHECK(fields[3].value == ~std::uint64_t{0});
  Reader reader(text);
  CHECK(reader.text(fields[2], 6000).ends_with("xend"));
  CHECK_THAT(fixture::refused([&] { reader.text(fields[2], 5000); }), Contains("5003 bytes"));
  CHECK_THAT(fixture::refused([&] { reader.text(fields[0], 5000); }), Contains("is a number"));
  CHECK_THAT(fixture::refused([&] { Reader::number(fields[2]); }), Contains("is no number"));
}

TEST_CASE("A list of numbers is one field each, or packed") {
  std::string text;
  put_number(text, 1, 5);
  put_bytes(text, 1, std::string("\x96\x01\x07"));
  Reader reader(text);
  std::vector<std::uint64_t> numbers;
  reader.for_each_field({0, text.size()}, [&](const Field& field) { reader.append_numbers(field, numbers, 3); });
  CHECK(numbers == std::vector<std::uint64_t>{5, 150, 7});
  CHECK_THAT(fixture::refused([&] { reader.append_numbers(fields_of(text)[0], numbers, 3); }), Contains("more than 3"));
}

TEST_CASE("What is not asked for is not read") {
  std::string text;
  put_bytes(text, 3, std::string(1U << 20, 'd'));
  put_number(text, 1, 1);
  std::uint64_t read = 0;
  Reader reader(text.size(), [&](std::uint64_t offset, std::span<std::byte> out) {
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()) + offset, out.size(), out.data());
    read += out.size();
  });
  std::size_t count = 0;
  reader.for_each_field({0, text.size()}, [&](const Field&) { ++count; });
  CHECK(count == 2);
  CHECK(read < 10'000);
}

TEST_CASE("What is no message is refused") {
  const auto said = [](const std::string& text) { return fixture::refused([&] { fields_of(text); }); };
  CHECK_THAT(said("\x08"), Contains("beyond its message"));
  CHECK_THAT(said("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), Contains("64 bits"));
  CHECK_THAT(said("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Contains("64 bits"));
  CHECK_THAT(said("\x0a\x05xx"), Contains("5 bytes"));
  CHECK_THAT(said("\x09\x01\x02"), Contains("beyond its message"));
  CHECK_THAT(said("\x0b\x0c"), Contains("wire type 3"));
  CHECK_THAT(said(std::string("\x00\x01", 2)), Contains("number 0"));
  CHECK(said("\x0d\x01\x02\x03\x04").empty());
}

}  // namespace
}  // namespace ckpt::protobuf
