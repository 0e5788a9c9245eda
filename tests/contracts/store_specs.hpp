#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "contracts/store_contract.hpp"
#include "refused.hpp"

// What the cases of the contract are written in.
namespace ckpt::contract {

inline FileSpec::Array array(const std::string& name, const DType& dtype, const Shape& shape) {
  FileSpec::Array array;
  array.name = name;
  array.dtype = dtype;
  array.shape = shape;
  array.global_shape = shape;
  return array;
}

inline FileSpec::Array array(const std::string& name, const char* type, const Shape& shape) {
  return array(name, number_type(type).value(), shape);
}

/// What every format can hold, of several sizes.
inline FileSpec common_spec() {
  FileSpec spec;
  spec.arrays = {array("layers.0.weight", "bf16", {40, 33}),
                 array("bias", "f32", {5}),
                 array("steps", "i64", {}),
                 array("none", "f32", {0, 3}),
                 array("large", "u8", {3, 7001}),
                 array("flags", "bool", {9})};
  spec.arrays[0].global_shape = Shape{80, 33};
  spec.arrays[1].global_shape.reset();
  spec.attributes = {{"format", text_value("pt")}, {"note", text_value("two\nlines, \"quoted\"")}};
  spec.layout = R"({"ckpt_layout": 1, "note": "\u00e9"})";
  spec.manifest = R"({"files": [)" + std::string(5000, ' ') + "]}";
  return spec;
}

inline std::uint64_t data_bytes(const FileSpec::Array& array) {
  return array.verbatim ? 0 : numel(array.shape) * array.dtype.size;
}

/// The bytes of an array that tests write: none is like its neighbours, or like another array's.
inline std::string data_of(std::size_t array, std::uint64_t bytes) {
  std::string data(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(1 + (i * 7 + i / 251 + array * 53) % 255);
  return data;
}

/// Fills a file with data.
inline void fill(Store& store, const std::filesystem::path& file, const FileSpec& spec, const FileRoom& room) {
  const auto target = store.open_to_fill(file, room);
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    const std::string data = data_of(i, data_bytes(spec.arrays[i]));
    room.data.at(i).for_each_part({0, data.size()}, [&](std::uint64_t offset, Interval part) {
      target->write(offset, std::as_bytes(std::span(data)).subspan(part.lo, part.size()));
    });
  }
  target->sync();
}

inline FileRoom make(Store& store, const std::filesystem::path& file, const FileSpec& spec) {
  const FileRoom room = store.create(file, spec);
  fill(store, file, spec, room);
  return room;
}

/// A whole array through the store.
inline std::string read(SourceFile& source, const Schema& schema, const std::string& name) {
  const std::size_t index = schema.find(name);
  std::string data(bytes_of(schema.arrays->at(index)), '\0');
  source.read(index, 0, std::as_writable_bytes(std::span(data)));
  return data;
}

/// Whether two lists of attributes say the same. A text's type may carry what its format alone knows of it.
inline bool same(const std::vector<Attribute>& a, const std::vector<Attribute>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Attribute& x, const Attribute& y) {
    const auto text = texts_in(x.value);
    return x.name == y.name && x.value.shape == y.value.shape &&
           (text ? text == texts_in(y.value) : x.value == y.value);
  });
}

/// A file's arrays are those of the specification, filled as `fill` does it.
inline void check_arrays(Store& store, const std::filesystem::path& file, const FileSpec& spec) {
  const FileCatalog catalog = store.catalog(file);
  const Schema& schema = *catalog.schema;
  REQUIRE(schema.arrays->size() == spec.arrays.size());
  REQUIRE(schema.datasets.size() == spec.arrays.size());
  const auto source = store.open(file, catalog);
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    const FileSpec::Array& expected = spec.arrays[i];
    const std::size_t index = schema.find(expected.name);
    CAPTURE(expected.name, expected.dtype.name, to_string(expected.shape));
    REQUIRE(index < schema.arrays->size());
    const StoredArray& found = (*schema.arrays)[index];
    CHECK(found.dtype == expected.dtype);
    CHECK(found.shape == expected.shape);
    CHECK(found.global_shape == expected.global_shape);
    CHECK(found.verbatim == expected.verbatim.has_value());
    CHECK(schema.datasets[index].verbatim == expected.verbatim);
    if (!expected.verbatim) CHECK((read(*source, schema, expected.name) == data_of(i, data_bytes(expected))));
  }
}

using fixture::refused;

}  // namespace ckpt::contract
