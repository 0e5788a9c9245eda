#include <map>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "store/safetensors/header.hpp"
#include "store/safetensors/safetensors_store.hpp"
#include "store/stores.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::TemporaryDirectory;

/// A file with this header and so many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(data_bytes, 'd');
}

std::string refused(const std::string& header, std::size_t data_bytes) {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.safetensors", file_of(header, data_bytes));
  const std::string said = fixture::refusal(*safetensors_store(), folder / "a.safetensors");
  CHECK_THAT(said, Contains("a.safetensors"));
  return said;
}

TEST_CASE("A safetensors file is read as its header says") {
  const TemporaryDirectory folder;
  fixture::put_bytes(
      folder / "a.safetensors",
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},)"
              R"("a.w":{"dtype":"I64","shape":[],"data_offsets":[4,12]},)"
              R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[12,12]}}   )",
              12));
  Stores stores;
  REQUIRE(stores.reading().recognises(folder / "a.safetensors"));
  const FileCatalog catalog = stores.reading().catalog(folder / "a.safetensors");
  const Schema& schema = *catalog.schema;
  CHECK(schema.format == "safetensors");
  REQUIRE(schema.arrays->size() == 3);
  CHECK((*schema.arrays)[0].name == "a.w");
  CHECK((*schema.arrays)[0].dtype == number_type("i64"));
  CHECK((*schema.arrays)[0].shape.empty());
  CHECK((*schema.arrays)[1].dtype == number_type("bf16"));
  CHECK((*schema.arrays)[2].shape == Shape{0, 7});
  CHECK(schema.datasets[2].storage == Storage::empty);
  REQUIRE(schema.attributes.size() == 1);
  CHECK(text_in(schema.attributes[0].value) == "pt");
  const auto source = stores.reading().open(folder / "a.safetensors", catalog);
  CHECK(fixture::data_of(*source, catalog, "b") == "dddd");
}

TEST_CASE("A safetensors header that lies is refused, and what is wrong is said") {
  const std::string w = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK_THAT(refused("{" + w + "," + w + "}", 8), Contains("\"w\" twice"));
  CHECK_THAT(refused("{" + w + "}", 9), Contains("9 bytes of data"));
  CHECK_THAT(refused("{" + w + "}", 7), Contains("is the file truncated?"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12), Contains("begin at 4"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
             Contains("12 bytes for [3] of f32"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), Contains("bytes 8 to 0"));
  CHECK_THAT(refused("{" + w + R"(,"v":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8), Contains("v: "));
  CHECK_THAT(refused(R"({"w":{"dtype":"F4","shape":[3,3],"data_offsets":[0,5]}})", 5), Contains("an even number"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F4","shape":[],"data_offsets":[0,1]}})", 1), Contains("an even number"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}})", 3), Contains("of 6 bits"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F9","shape":[2],"data_offsets":[0,2]}})", 2), Contains("unknown type F9"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8), Contains("extent -1"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8),
             Contains("2^64"));
  CHECK_THAT(refused(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8), Contains("other keys"));
  CHECK_THAT(refused(R"({"__metadata__":{"a":1}})", 0), Contains("no text"));
  CHECK_THAT(refused("{" + std::string(100, '['), 0), Contains("header"));
  CHECK_THAT(refused(R"({"w":)", 0), Contains("not JSON"));
}

TEST_CASE("A file whose header would be longer than itself is refused") {
  const TemporaryDirectory folder;
  std::string bytes = file_of("{}", 0);
  bytes[1] = '\x10';  // 4,098 bytes of header
  fixture::put_bytes(folder / "a.safetensors", bytes);
  CHECK_THAT(fixture::refusal(*safetensors_store(), folder / "a.safetensors"), Contains("is it truncated?"));
}

FileSpec spec() {
  FileSpec spec;
  const auto add = [&](const char* name, const DType& dtype, const Shape& shape) {
    FileSpec::Array array;
    array.name = name;
    array.dtype = dtype;
    array.shape = shape;
    array.global_shape = shape;
    spec.arrays.push_back(array);
  };
  add("a", *number_type("bool"), {3});
  add("b \"quoted\"", *number_type("f64"), {});
  add("c", *number_type("f8_e4m3"), {5});
  add("d", *number_type("bf16"), {2, 2});
  add("e", *number_type("c64"), {0});
  spec.attributes = {{"origin", text_value("a\nb")}};
  spec.layout = R"({"ckpt_layout": 1})";
  spec.manifest = std::string(5000, 'm') + "\"\n";
  return spec;
}

TEST_CASE("What is written is read again, each tensor at a multiple of its element's size") {
  const TemporaryDirectory folder;
  const auto store = safetensors_store();
  const FileSpec written = spec();
  CHECK(store->losses(written).empty());
  const FileRoom room = store->create(folder / "a.safetensors", written);
  const FileCatalog catalog = store->catalog(folder / "a.safetensors");
  CHECK(catalog.bytes == room.bytes);
  CHECK(catalog.schema->layout == written.layout);
  CHECK(catalog.schema->manifest == written.manifest);
  CHECK(catalog.schema->attributes == written.attributes);
  for (std::size_t i = 0; i < written.arrays.size(); ++i) {
    const std::size_t index = catalog.schema->find(written.arrays[i].name);
    REQUIRE(index < written.arrays.size());
    const StoredArray& found = (*catalog.schema->arrays)[index];
    CHECK(found.dtype == written.arrays[i].dtype);
    CHECK(found.shape == written.arrays[i].shape);
    CHECK(found.global_shape == written.arrays[i].global_shape);
    CHECK(catalog.schema->datasets[index].extents.offset() == room.data[i].offset());
    CHECK(room.data[i].offset() % written.arrays[i].dtype.size == 0);
  }
  CHECK_FALSE(room.is_in_order);
  const std::string bytes = fixture::bytes_of(folder / "a.safetensors");
  const std::string manifest = store->manifest_bytes(written.manifest);
  REQUIRE(room.manifest);
  CHECK(bytes.substr(room.manifest->lo, manifest.size()) == manifest);
  // Some readers take the header's entries in the order of their data only.
  std::map<std::uint64_t, std::size_t> entry_by_place;
  for (std::size_t i = 0; i < written.arrays.size(); ++i)
    if (room.data[i].bytes() > 0)
      entry_by_place[room.data[i].offset()] =
          bytes.find(nlohmann::json(written.arrays[i].name).dump() + R"(:{"dtype")");
  std::size_t last = 0;
  for (const auto& [place, entry] : entry_by_place) {
    CHECK((last < entry && entry < bytes.size()));
    last = entry;
  }
}

TEST_CASE("The largest safetensors array that should lie at a byte of a block lies there") {
  const TemporaryDirectory folder;
  const auto store = safetensors_store();
  FileSpec placed = spec();
  for (const char* name : {"large", "larger", "any"}) {
    placed.arrays.emplace_back();
    placed.arrays.back().name = name;
    placed.arrays.back().dtype = *number_type("f32");
    placed.arrays.back().shape = Shape{700, 300};
  }
  const std::size_t larger = placed.arrays.size() - 2;
  placed.arrays[larger - 1].place_in_block = 8;
  placed.arrays[larger].shape = Shape{800, 300};
  const std::uint32_t in_block = GENERATE(0U, 8U, 2056U, 4088U);
  placed.arrays[larger].place_in_block = in_block;
  const FileRoom room = store->create(folder / "a.safetensors", placed);
  CHECK(room.data[larger].offset() % 4096 == in_block);
  const FileCatalog catalog = store->catalog(folder / "a.safetensors");
  const std::size_t found = catalog.schema->find("larger");
  REQUIRE(found < catalog.schema->datasets.size());
  CHECK(catalog.schema->datasets[found].extents.offset() == room.data[larger].offset());
  // Numbers lie at multiples of 8 in any case.
  placed.arrays[larger].place_in_block = 4;
  CHECK(store->create(folder / "b.safetensors", placed).data[larger].offset() % 8 == 0);
}

TEST_CASE("The same specification makes the same safetensors file; one that is there keeps its data") {
  const TemporaryDirectory folder;
  const auto store = safetensors_store();
  const FileRoom room = store->create(folder / "a.safetensors", spec());
  store->create(folder / "b.safetensors", spec());
  CHECK(fixture::bytes_of(folder / "a.safetensors") == fixture::bytes_of(folder / "b.safetensors"));
  const std::string data = "\1\2\3";
  PosixFile::open_for_writing(folder / "a.safetensors").write(room.data[0].offset(), std::as_bytes(std::span(data)));
  CHECK(store->create_again(folder / "a.safetensors", spec()).is_kept);
  CHECK(fixture::bytes_of(folder / "a.safetensors").substr(room.data[0].offset(), 3) == data);
}

TEST_CASE("What safetensors cannot hold is told of, or refused") {
  const auto store = safetensors_store();
  FileSpec odd = spec();
  odd.attributes.push_back({"step", integers_value({1000})});
  odd.arrays[0].attributes = {{"unit", text_value("m")}};
  odd.groups = {{"g", {{"kind", text_value("layer")}}}};
  CHECK(store->losses(odd).size() == 1);  // numbers and texts of the root are kept
  odd.arrays[0].dtype = *number_type("f32be");
  CHECK_THAT(error_of([&] { store->losses(odd); }), Contains("/a: elements of type f32be"));
  CHECK_THAT(error_of([&] { store->check_names({"__metadata__"}, {}); }), Contains("use themselves"));
  CHECK_THAT(error_of([&] { store->check_names({"caf\xe9"}, {}); }), Contains("not UTF-8"));
}

TEST_CASE("A header longer than readers take is refused before there is a file") {
  const TemporaryDirectory folder;
  FileSpec large;
  large.layout = std::string(100'000'000, ' ');
  CHECK_THAT(error_of([&] { safetensors_store()->create(folder / "a.safetensors", large); }),
             Contains("at most 100000000") && Contains("more files"));
  CHECK_FALSE(std::filesystem::exists(folder / "a.safetensors"));
}

TEST_CASE("A file's name tells its format where its ending is a format's") {
  CHECK(format_by_ending(formats(), "rank_{card}.safetensors")->name == "safetensors");
  CHECK(format_by_ending(formats(), "a.hdf5")->name == "hdf5");
  CHECK(format_by_ending(formats(), "a.txt") == nullptr);
  CHECK_THROWS_AS(Stores().named("zip"), Error);
}

}  // namespace
