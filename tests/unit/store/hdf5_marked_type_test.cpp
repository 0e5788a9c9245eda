#include "catch.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/marked_type.hpp"
#include "store/number_words.hpp"

namespace ckpt::hdf5 {
namespace {

std::vector<Attribute> marked(const std::string& text) {
  return {{dtype_attribute, text_value(text)}};
}

DType opaque(std::size_t size, const char* tag = "") {
  const Lock lock;
  const auto type = own<TypeId>(H5Tcreate(H5T_OPAQUE, size), "opaque");
  check(H5Tset_tag(type.get(), tag), "tag");
  return describe(type.get());
}

std::string name(const DType& dtype, const std::vector<Attribute>& attributes) {
  const Lock lock;
  return interpreted(dtype, attributes).name;
}

TEST_CASE("Opaque bytes and integers are the numbers that their mark calls them") {
  CHECK(name(opaque(2), marked("bfloat16")) == "bf16");
  CHECK(name(opaque(2, "bfloat16"), {}) == "bf16");
  CHECK(name(opaque(1), marked("float8_e4m3fn")) == "f8_e4m3");
  CHECK(name(*number_type("i16"), marked("bfloat16")) == "bf16");
  CHECK(name(*number_type("u16be"), marked("bfloat16")) == "bf16be");
  CHECK(name(*number_type("u8"), marked("float8_e5m2")) == "f8_e5m2");
}

TEST_CASE("A mark may have any known spelling, and name floats that are only moved") {
  CHECK(name(*number_type("u16"), marked("torch.bfloat16")) == "bf16");
  CHECK(name(*number_type("u16"), marked("BF16")) == "bf16");
  CHECK(name(*number_type("u16"), marked("float16")) == "f16");
  CHECK(name(*number_type("u8"), marked("F8_E4M3")) == "f8_e4m3");
  CHECK(name(*number_type("u8"), marked("float8_e4m3fnuz")) == "f8_e4m3fnuz");
  CHECK(name(*number_type("u8"), marked("uint8")) == "u8");
  CHECK(name(*number_type("i32"), marked("float32")) == "i32");
}

TEST_CASE("Two opaque bytes of which nothing is said are bf16, as h5py stores those of ml_dtypes") {
  CHECK(name(opaque(2), {}) == "bf16");
  CHECK(name(opaque(2), marked("V2")) == "opaque2");
  CHECK(name(opaque(2, "pair"), {}) == "opaque2(pair)");
  CHECK(name(opaque(1), {}) == "opaque1");
}

TEST_CASE("A mark that does not fit the bytes says nothing") {
  CHECK(name(*number_type("i16"), {}) == "i16");
  CHECK(name(*number_type("i16"), marked("float8_e5m2")) == "i16");
  CHECK(name(*number_type("i32"), marked("bfloat16")) == "i32");
  CHECK(name(*number_type("f16"), marked("bfloat16")) == "f16");
  CHECK(name(*number_type("u8"), {{dtype_attribute, integers_value({1})}}) == "u8");
}

TEST_CASE("An interpreted type is stored as before, with its mark where the type says too little") {
  const std::vector<DType> all{opaque(2), opaque(2, "bfloat16"), *number_type("i16"), *number_type("u16be")};
  const Lock lock;
  for (const DType& stored : all) {
    const DType dtype = interpreted(stored, marked("bfloat16"));
    CHECK(describe(make_type(dtype).get()) == stored);
    const bool is_integer = stored.kind != ElementKind::other;
    CHECK(mark_for(dtype) == (is_integer ? std::optional<std::string>("bfloat16") : std::nullopt));
  }
  CHECK_FALSE(mark_for(*number_type("bf16")));
  CHECK_FALSE(mark_for(*number_type("i16")));
  CHECK_FALSE(mark_for(*number_type("f8_e5m2")));
}

}  // namespace
}  // namespace ckpt::hdf5
