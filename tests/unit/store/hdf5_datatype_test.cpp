#include <array>

#include "catch.hpp"
#include "store/hdf5/datatype.hpp"
#include "unit/store/hdf5_fixture.hpp"

namespace ckpt::hdf5 {
namespace {

using fixture::copy_of;
using fixture::text_type;

std::string name(hid_t type) {
  const DType dtype = describe(type);
  CHECK(describe(make_type(dtype).get()) == dtype);
  return dtype.name;
}

TypeId small_float(std::size_t sign, std::size_t exponent, std::size_t exponent_size, std::size_t mantissa_size,
                   std::size_t size, std::size_t bias) {
  auto type = copy_of(H5T_IEEE_F32LE);
  check(H5Tset_fields(type.get(), sign, exponent, exponent_size, 0, mantissa_size), "fields");
  check(H5Tset_precision(type.get(), 8 * size), "precision");
  check(H5Tset_size(type.get(), size), "size");
  check(H5Tset_ebias(type.get(), bias), "bias");
  return type;
}

TypeId pair(hid_t part, const char* first, const char* second, std::size_t padding = 0) {
  const std::size_t size = H5Tget_size(part);
  TypeId type = own<TypeId>(H5Tcreate(H5T_COMPOUND, 2 * size + padding), "compound");
  check(H5Tinsert(type.get(), first, 0, part), "insert");
  check(H5Tinsert(type.get(), second, size + padding, part), "insert");
  return type;
}

TypeId enumeration(hid_t base, const std::vector<std::pair<const char*, std::int8_t>>& members) {
  TypeId type = own<TypeId>(H5Tenum_create(base), "enum");
  for (const auto& [member, value] : members) check(H5Tenum_insert(type.get(), member, &value), "insert");
  return type;
}

TEST_CASE("Plain types have short names") {
  const Lock lock;
  CHECK(name(H5T_STD_I8LE) == "i8");
  CHECK(name(H5T_STD_I8BE) == "i8");  // one byte has no order
  CHECK(name(H5T_STD_I16LE) == "i16");
  CHECK(name(H5T_STD_I64BE) == "i64be");
  CHECK(name(H5T_STD_U32LE) == "u32");
  CHECK(name(H5T_STD_U64BE) == "u64be");
  CHECK(name(H5T_IEEE_F32LE) == "f32");
  CHECK(name(H5T_IEEE_F64BE) == "f64be");
  CHECK(name(H5T_STD_B16LE) == "bits16");
  CHECK(name(H5T_UNIX_D32LE) == "time32");
  CHECK(name(small_float(15, 10, 5, 10, 2, 15).get()) == "f16");
  CHECK(name(small_float(15, 7, 8, 7, 2, 127).get()) == "bf16");
}

TEST_CASE("Unusual numbers are described in full") {
  const Lock lock;
  const std::string e4m3 = name(small_float(7, 3, 4, 3, 1, 7).get());
  CHECK(e4m3 == "f8_e4m3");
  CHECK(name(small_float(7, 3, 4, 3, 1, 8).get()) == "float8(sign=7,exponent=3+4,mantissa=0+3,bias=8,norm=0,inpad=0)");
  CHECK(name(small_float(7, 2, 5, 2, 1, 15).get()) == "f8_e5m2");
  auto type = copy_of(H5T_STD_I32LE);
  check(H5Tset_precision(type.get(), 24), "precision");
  CHECK(name(type.get()) == "i32(bits=0+24,pad=0/0)");
  check(H5Tset_offset(type.get(), 8), "offset");
  CHECK(name(type.get()) == "i32(bits=8+24,pad=0/0)");
  check(H5Tset_pad(type.get(), H5T_PAD_ONE, H5T_PAD_ZERO), "pad");
  CHECK(name(type.get()) == "i32(bits=8+24,pad=1/0)");
}

TEST_CASE("Enums: bool as h5py writes it, others with their members in any order") {
  const Lock lock;
  CHECK(name(enumeration(H5T_STD_I8LE, {{"FALSE", 0}, {"TRUE", 1}}).get()) == "bool");
  CHECK(name(enumeration(H5T_STD_I8LE, {{"TRUE", 1}, {"FALSE", 0}}).get()) == "bool");
  CHECK(name(enumeration(H5T_STD_I8LE, {{"FALSE", 1}, {"TRUE", 0}}).get()) == "enum<i8>{FALSE=1,TRUE=0}");
  CHECK(name(enumeration(H5T_STD_U8LE, {{"FALSE", 0}, {"TRUE", 1}}).get()) == "enum<u8>{FALSE=0,TRUE=1}");
  CHECK(name(enumeration(H5T_STD_I8LE, {{"a=1,b", -3}}).get()) == "enum<i8>{\"a=1,b\"=-3}");
}

TEST_CASE("Compounds, arrays, opaque data and strings") {
  const Lock lock;
  CHECK(name(pair(H5T_IEEE_F32LE, "r", "i").get()) == "c64");
  CHECK(name(pair(H5T_IEEE_F64BE, "r", "i").get()) == "c128be");
  CHECK(name(pair(H5T_IEEE_F32LE, "i", "r").get()) == "{i:f32@0,r:f32@4}/8");
  CHECK(name(pair(H5T_IEEE_F32LE, "r", "i", 4).get()) == "{r:f32@0,i:f32@8}/12");
  CHECK(name(pair(H5T_STD_I16LE, "a b", "c").get()) == "{\"a b\":i16@0,c:i16@2}/4");
  CHECK(name(pair(pair(H5T_IEEE_F32LE, "r", "i").get(), "x", "y").get()) == "{x:c64@0,y:c64@8}/16");

  const hsize_t extents[] = {2, 3};
  CHECK(name(own<TypeId>(H5Tarray_create2(H5T_STD_U8LE, 2, extents), "array").get()) == "u8[2,3]");
  const auto opaque = own<TypeId>(H5Tcreate(H5T_OPAQUE, 2), "opaque");
  CHECK(name(opaque.get()) == "opaque2");
  check(H5Tset_tag(opaque.get(), "bfloat16"), "tag");
  CHECK(name(opaque.get()) == "opaque2(bfloat16)");
  CHECK(name(text_type(7).get()) == "string7(nullterm,utf8)");
  CHECK(name(H5T_FORTRAN_S1) == "string1(spacepad,ascii)");
  CHECK(name(text_type().get()) == "string(nullterm,utf8)");
  CHECK(name(own<TypeId>(H5Tvlen_create(H5T_STD_I32LE), "vlen").get()) == "vlen<i32>");
}

TEST_CASE("Variable-length and reference parts are found at any depth") {
  const Lock lock;
  const auto traits = [](hid_t type) { return traits_of(type); };
  CHECK_FALSE(traits(pair(H5T_IEEE_F32LE, "r", "i").get()).variable_length);
  const hsize_t two = 2;
  const auto texts = own<TypeId>(H5Tarray_create2(text_type().get(), 1, &two), "array");
  CHECK(traits(pair(texts.get(), "a", "b").get()).variable_length);
  CHECK_FALSE(traits(text_type(5).get()).variable_length);
  const auto references = own<TypeId>(H5Tvlen_create(H5T_STD_REF_OBJ), "vlen");
  CHECK(traits(references.get()).reference);
  CHECK(traits(references.get()).variable_length);
}

TEST_CASE("A type is the same whatever format the file has that it was read from") {
  const Lock lock;
  const fixture::TemporaryDirectory folder;
  const hsize_t two = 2;
  const auto big = own<TypeId>(H5Tenum_create(H5T_STD_I32BE), "enum");
  const std::array<std::uint8_t, 4> value{0, 0, 1, 2};
  check(H5Tenum_insert(big.get(), "later", value.data()), "insert");
  const auto shades = own<TypeId>(H5Tarray_create2(pair(big.get(), "z", "a", 3).get(), 1, &two), "array");
  const auto sequence = own<TypeId>(H5Tvlen_create(shades.get()), "vlen");
  const auto text = text_type();
  const auto whole = pair(sequence.get(), "x", "y");
  for (const hid_t type : {hid_t{H5T_IEEE_F32BE}, text.get(), big.get(), shades.get(), sequence.get(), whole.get()}) {
    const DType expected = describe(type);
    CHECK(H5Tequal(make_type(expected).get(), type) > 0);
    for (const bool latest : {false, true}) {
      fixture::Maker file(folder / "a.h5", 0, latest);
      const auto dataset = file.dataset("w", type, {2}, nullptr);
      CHECK(describe(transient(own<TypeId>(H5Dget_type(dataset.get()), "type")).get()) == expected);
    }
  }
}

TEST_CASE("Numbers that every format has need no description of HDF5's, and come back from their names") {
  const Lock lock;
  for (const char* name :
       {"bool", "i8", "i64be", "u16", "f16", "f32", "f64be", "bf16", "f8_e4m3", "f8_e5m2", "c64be"}) {
    CAPTURE(name);
    const DType dtype = describe(make_type(*number_type(name)).get());
    CHECK(dtype == number_type(name));
    CHECK(dtype.native.empty());
  }
  auto odd = copy_of(H5T_IEEE_F32LE);
  check(H5Tset_inpad(odd.get(), H5T_PAD_ONE), "padding");
  CHECK_FALSE(describe(odd.get()).native.empty());
  CHECK(H5Tequal(make_type(describe(odd.get())).get(), odd.get()) > 0);
}

TEST_CASE("A type nested without end is refused") {
  const Lock lock;
  auto type = copy_of(H5T_STD_I8LE);
  for (int depth = 0; depth < 40; ++depth) {
    const hsize_t one = 1;
    type = own<TypeId>(H5Tarray_create2(type.get(), 1, &one), "array");
  }
  CHECK_THROWS_AS(describe(type.get()), Error);
}

}  // namespace
}  // namespace ckpt::hdf5
