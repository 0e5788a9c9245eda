#include "tensor/dtype.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "tensor/known_types.hpp"
#include "tensor/number.hpp"

using namespace ckpt;

namespace {

TEST_CASE("A number's type is found by its kind and by its name") {
  const auto f32 = number_type(ElementKind::ieee_float, 4);
  REQUIRE(f32);
  CHECK(f32->name == "f32");
  CHECK(number_type("f32") == f32);
  CHECK(number_type(ElementKind::signed_integer, 8, ByteOrder::big)->name == "i64be");
  CHECK(number_type("i64be")->order == ByteOrder::big);
  CHECK(number_type("bf16")->kind == ElementKind::bfloat);
  for (const char* unknown : {"", "f", "f33", "f32le", "f32bebe", "string", "i8be"}) CHECK_FALSE(number_type(unknown));
  CHECK_FALSE(number_type(ElementKind::ieee_float, 3));
  CHECK_FALSE(number_type(ElementKind::other, 4));
}

TEST_CASE("A table decides each type if it has it or says that it lacks it, and not both") {
  struct Row {
    std::string_view type;
  };
  std::vector<Row> rows;
  for (const KnownType& each : known_types) rows.push_back({each.name});
  CHECK_FALSE(decides_each_type(rows, {}));
  for (const MovedType& each : moved_types) rows.push_back({each.name});
  CHECK(decides_each_type(rows, {}));
  CHECK_FALSE(decides_each_type(rows, {"hif8"}));
  std::erase_if(rows, [](const Row& row) { return row.type == "hif8" || row.type == "c32"; });
  CHECK_FALSE(decides_each_type(rows, {"hif8"}));
  CHECK(decides_each_type(rows, {"hif8", "c32"}));
}

TEST_CASE("No type that is only moved has a number's name") {
  for (const MovedType& each : moved_types) CHECK_FALSE(number_type(each.name));
}

TEST_CASE("One byte has no order") {
  CHECK(number_type(ElementKind::f8_e5m2, 1, ByteOrder::big) == number_type("f8_e5m2"));
}

TEST_CASE("Floats of 8 bits have the values that their formats define") {
  const auto value = [](const char* type, unsigned bits) {
    const auto byte = static_cast<std::byte>(bits);
    return element_text(*number_type(type), &byte);
  };
  // OCP 8-bit floating point specification, table 1: largest, smallest normal and subnormal, special values.
  CHECK(value("f8_e4m3", 0x7e) == "448");
  CHECK(value("f8_e4m3", 0x7f) == "nan");
  CHECK(value("f8_e4m3", 0x08) == "0.015625");
  CHECK(value("f8_e4m3", 0x81) == "-0.001953125");
  CHECK(value("f8_e5m2", 0x7b) == "57344");
  CHECK(value("f8_e5m2", 0x7c) == "inf");
  CHECK(value("f8_e5m2", 0xfd) == "-nan");
  CHECK(value("f8_e5m2", 0x01) == "1.5258789e-05");
}

}  // namespace
