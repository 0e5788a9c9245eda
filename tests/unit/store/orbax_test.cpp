#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "store/chunked_array.hpp"
#include "store/element_words.hpp"
#include "store/orbax/chunk_reader.hpp"
#include "store/orbax/item.hpp"
#include "store/orbax/write_file.hpp"
#include "tensor/known_types.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::TemporaryDirectory;

const fs::path golden = fs::path(CKPT_SOURCE_DIR) / "tests/golden/orbax";

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char c : bytes)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15];
  return text;
}

/// The metadata of an array of zarr 2, with these members changed.
std::string zarr2(const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json json{{"zarr_format", 2},      {"shape", {4, 6}}, {"chunks", {2, 6}},   {"dtype", "<f4"},
                      {"compressor", nullptr}, {"order", "C"},    {"filters", nullptr}, {"fill_value", nullptr}};
  json.update(changes);
  return json.dump();
}

void put(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  fixture::put_bytes(file, bytes);
}

}  // namespace

TEST_CASE("databases of tensorstore hold what it put into them: deep trees, numbered manifests, nothing compressed") {
  for (const char* const name : {"deep", "numbered", "uncompressed", "emptied"}) {
    INFO(name);
    const orbax::KeyValues found = orbax::read_ocdbt(golden / "database" / name);
    std::ifstream file(golden / "database" / name / "truth.json");
    const auto truth = nlohmann::json::parse(file);
    CHECK(found.entries.size() == truth.size());
    for (const auto& entry : found.entries)
      CHECK(hexadecimal(orbax::value_of(golden / "database" / name, found, entry.place)) ==
            truth.at(entry.key).get<std::string>());
  }
}

TEST_CASE("every byte of a manifest and of a node is covered by its checksum") {
  const TemporaryDirectory folder;
  fs::copy(golden / "database/uncompressed", folder / "base", fs::copy_options::recursive);
  const fs::path manifest = folder / "base/manifest.ocdbt";
  const std::string bytes = fixture::bytes_of(manifest);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    fixture::put_bytes(manifest, damaged);
    CHECK_THROWS_AS(orbax::read_ocdbt(folder / "base"), Error);
    fixture::put_bytes(manifest, bytes.substr(0, at));
    CHECK_THROWS_AS(orbax::read_ocdbt(folder / "base"), Error);
  }
}

TEST_CASE("an array of zarr: types, orders, keys") {
  using orbax::value_key;
  using orbax::value_number;
  const auto array = orbax::zarr_array(zarr2({{"order", "F"}, {"dtype", "bfloat16"}})).value();
  CHECK(array.dtype == *number_type("bf16"));
  CHECK(array.strides == Shape{1, 2});
  CHECK(orbax::value_count(array) == 2);
  CHECK(value_number(array, "1.0") == 1);
  CHECK(value_key(array, 1) == "1.0");
  for (const char* const other : {"2.0", "0.1", "01.0", "1", "1.0.0", "1/0", "", ".zarray", "-1.0", "1.0 "})
    CHECK_FALSE(value_number(array, other).has_value());
  const auto scalar =
      orbax::zarr_array(zarr2({{"shape", nlohmann::json::array()}, {"chunks", nlohmann::json::array()}}));
  CHECK(value_number(*scalar, "0") == 0);
  CHECK(value_key(*scalar, 0) == "0");
  CHECK(orbax::zarr_array(zarr2({{"dtype", "int4"}}))->mark == "int4");
  CHECK(orbax::zarr_array(zarr2({{"dtype", ">f8"}}))->dtype == *number_type("f64be"));
}

TEST_CASE("elements that fill no byte, or of a form that no other format has, lie in a byte each and keep their mark") {
  for (const char* const word : {"int4", "uint4", "int2", "uint2", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz",
                                 "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"}) {
    INFO(word);
    const auto array = orbax::zarr_array(zarr2({{"dtype", word}})).value();
    CHECK(array.mark == word);
    CHECK(array.dtype == *number_type(word[0] == 'i' ? "i8" : "u8"));
    CHECK(orbax::zarr2_type(array.dtype, array.mark) == word);
  }
}

TEST_CASE("a type is read by the word by which it is written in zarr 2") {
  std::size_t written = 0;
  const auto check = [&](const DType& type) {
    INFO(type.name.str());
    const std::string word = orbax::zarr2_type(type, "");
    if (word.empty()) return;
    CHECK(orbax::zarr_array(zarr2({{"dtype", word}}))->dtype == type);
    ++written;
  };
  for (const KnownType& each : known_types) {
    check(*number_type(each.name));
    if (each.size > 1) check(*number_type(std::string(each.name) + "be"));
  }
  for (const MovedType& each : moved_types) check(opaque_type(each.name));
  CHECK(written > known_types.size());
}

TEST_CASE("forms of zarr that are not read are refused by name") {
  const auto message = [](const nlohmann::json& changes) {
    return error_of([&] { orbax::zarr_array(zarr2(changes)); });
  };
  CHECK_THAT(message({{"compressor", {{"id", "blosc"}}}}), Contains("blosc"));
  CHECK_THAT(message({{"filters", {{{"id", "delta"}}}}}), Contains("delta"));
  CHECK_THAT(message({{"dtype", {{"a", "<f4"}}}}), Contains("several fields"));
  CHECK_THAT(message({{"dtype", "<U4"}}), Contains("<U4"));
  CHECK_THAT(message({{"zarr_format", 4}}), Contains("format 4"));
  CHECK_THAT(message({{"chunks", {0, 6}}}), Contains("hold elements"));
  CHECK_THAT(message({{"chunks", {2}}}), Contains("dimensions"));
  CHECK_THAT(message({{"shape", {std::uint64_t{1} << 62, std::uint64_t{1} << 62}}}), Contains("2^64"));
  CHECK_THAT(message({{"shape", {-4, 6}}}), Contains("whole numbers"));
}

TEST_CASE("parts of large chunks that are stored as they are need no memory") {
  const TemporaryDirectory folder;
  constexpr std::uint64_t rows = 600;
  constexpr std::uint64_t columns = 1000;  // a chunk of 1.2 MB
  put(folder / "item/_METADATA", "{}");
  put(folder / "item/w/.zarray",
      zarr2({{"shape", {rows, 2 * columns - 7}}, {"chunks", {rows, columns}}, {"dtype", "<u2"}}));
  const auto element = [](std::uint64_t row, std::uint64_t column) {
    return static_cast<std::uint16_t>(row * 31 + column * 7);
  };
  for (std::uint64_t half = 0; half < 2; ++half) {
    std::vector<std::uint16_t> chunk;
    for (std::uint64_t i = 0; i < rows * columns; ++i)
      chunk.push_back(element(i / columns, half * columns + i % columns));
    put(folder / ("item/w/0." + std::to_string(half)), {reinterpret_cast<const char*>(chunk.data()), chunk.size() * 2});
  }
  const auto item = std::make_shared<const orbax::Item>(orbax::read_item(folder / "item"));
  REQUIRE(item->arrays.size() == 1);
  CHECK(orbax::decoding_size(item->arrays[0]).bytes == 0);
  orbax::ChunkReader reader(folder / "item", item, std::make_shared<DecodedChunks>(), {});
  const Interval part{5 * (2 * columns - 7) + 990, 8 * (2 * columns - 7) + 3};
  std::vector<std::uint16_t> found(part.size());
  reader.read(0, {}, part, reinterpret_cast<std::byte*>(found.data()));
  for (std::uint64_t i = 0; i < part.size(); ++i) {
    const std::uint64_t at = part.lo + i;
    REQUIRE(found[i] == element(at / (2 * columns - 7), at % (2 * columns - 7)));
  }
}

TEST_CASE("pieces become chunks that divide them all, and lie as one run in each; the last may extend the tensor") {
  struct Case {
    Shape shape;
    std::vector<Interval> cuts;  // of the dimension `along`
    std::size_t along;
    Shape chunk;
  };
  const std::vector<Case> cases{{{6, 4}, {{0, 6}}, 0, {6, 4}},
                                {{6, 4}, {{0, 2}, {2, 4}, {4, 6}}, 0, {2, 4}},
                                {{7, 4}, {{0, 3}, {3, 6}, {6, 7}}, 0, {1, 4}},
                                {{2, 6}, {{0, 4}, {4, 6}}, 1, {1, 2}},
                                {{2, 6}, {{0, 3}, {3, 6}}, 1, {2, 3}},
                                {{7, 4}, {{0, 3}, {3, 6}, {6, 9}}, 0, {3, 4}},
                                {{2, 6}, {{0, 4}, {4, 8}}, 1, {2, 4}},
                                {{}, {{0, 0}}, 0, {}}};
  for (const Case& each : cases) {
    INFO(to_string(each.shape));
    const TemporaryDirectory folder;
    std::vector<IndexedFile> files;
    for (const Interval& cut : each.cuts) {
      FileSpec::Array array{"a.0.w", *number_type("u8"), each.shape, {}, each.shape, {}};
      Box box = whole(each.shape);
      if (!each.shape.empty()) box.set(each.along, cut);
      array.shape = box.shape();
      array.origin = box.lo;
      FileSpec spec;
      spec.arrays = {array};
      const NewFile made = orbax::form_of(spec);
      std::string bytes(made.room.bytes, '\0');
      std::size_t next = 0;
      const Shape strides = row_major_strides(each.shape);
      for_each_chunk(box, Shape(box.rank(), 1), [&](const Shape& place, const Box&) {
        bytes[made.room.data[0].offset() + next++] = static_cast<char>(offset_of(place, Shape(box.rank()), strides));
      });
      files.push_back({"orbax_data_000000" + std::to_string(files.size()), made.room.index});
      put(folder / "item" / files.back().name, bytes);
    }
    for (const auto& [name, bytes] : orbax::index_texts(files)) put(folder / "item" / name, bytes);
    const auto item = std::make_shared<const orbax::Item>(orbax::read_item(folder / "item"));
    REQUIRE(item->arrays.size() == 1);
    CHECK(item->arrays[0].form.grid == each.chunk);
    std::string found(numel(each.shape), '\xff');
    const auto chunks = std::make_shared<DecodedChunks>();
    orbax::ChunkReader reader(folder / "item", item, chunks, {});
    reader.read(0, orbax::decoding_size(item->arrays[0]), {0, found.size()},
                reinterpret_cast<std::byte*>(found.data()));
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == static_cast<char>(i));
    for (std::uint32_t file = 0; file < files.size(); ++file) {
      const auto at = std::find(item->files.begin(), item->files.end(), files[file].name) - item->files.begin();
      const auto piece = orbax::piece_in(item->arrays[0], static_cast<std::uint32_t>(at));
      REQUIRE(piece.has_value());
      if (!each.shape.empty()) CHECK(piece->box[each.along] == each.cuts[file]);
    }
  }
}

TEST_CASE("a tree's names are keys of dicts, and of lists where they count from 0") {
  FileSpec spec;
  for (const char* const name : {"opt.0.mu", "opt.1.mu", "layers.1.w", "layers.2.w", "it's"})
    spec.arrays.push_back({name, *number_type("f32"), Shape{2}, {}, {}, {}});
  const auto texts = orbax::index_texts({{"orbax_data_0000000", orbax::form_of(spec).room.index}});
  const auto tree = nlohmann::json::parse(texts[1].bytes).at("tree_metadata");
  CHECK(tree.at("('opt', '1', 'mu')").at("key_metadata")[1].at("key_type") == 1);
  CHECK(tree.at("('layers', '2', 'w')").at("key_metadata")[1].at("key_type") == 2);
  CHECK(tree.contains("('it\\'s',)"));
  CHECK(texts.back().name == orbax::ocdbt_manifest);
}

TEST_CASE("types of arrays in zarr 2, and what Orbax cannot hold") {
  CHECK(orbax::zarr2_type(*number_type("bf16"), "") == "bfloat16");
  CHECK(orbax::zarr2_type(*number_type("i8"), "int4") == "int4");
  CHECK(orbax::zarr2_type(*number_type("i8"), "torch.int8") == "|i1");
  CHECK(orbax::zarr2_type(text_type(), "").empty());
  orbax::check_names({"mlp/~/linear_0.w"});
  CHECK_THROWS_AS(orbax::check_names({""}), Error);
  CHECK_THROWS_AS(orbax::check_names({std::string("a\0b", 3)}), Error);
}
