#include <algorithm>
#include <filesystem>

#include "base/protobuf.hpp"
#include "catch.hpp"
#include "spec_of.hpp"
#include "store/mindspore/format.hpp"
#include "store/mindspore/mindspore_store.hpp"
#include "store/mindspore/text.hpp"
#include "store/mindspore/write_file.hpp"
#include "store/stores.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::TemporaryDirectory;

const fs::path golden = fs::path(CKPT_SOURCE_DIR) / "tests/golden/mindspore";

/// A specification that makes the file again: its arrays in the order in which they lie.
FileSpec spec_in_order(const FileCatalog& catalog, const std::string& bytes) {
  FileSpec spec = fixture::spec_of(*catalog.schema);
  const auto place = [&](const FileSpec::Array& array) {
    return bytes.find("\x0a" + std::string(1, static_cast<char>(array.name.size())) + array.name);
  };
  std::sort(spec.arrays.begin(), spec.arrays.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return spec;
}

/// What is written of a file that was read, with a CRC where that has one.
std::string written_again(const fs::path& file, std::uint64_t slice) {
  const auto store = mindspore_store();
  const FileCatalog catalog = store->catalog(file);
  FileSpec spec = spec_in_order(catalog, fixture::bytes_of(file));
  spec.has_checksum = catalog.schema->checksum.has_value();
  CHECK(store->losses(spec).empty());
  const NewFile form = mindspore::form_of(spec, slice);
  std::string again(form.room.bytes, '\0');
  for (const auto& piece : form.segments) again.replace(piece.offset, piece.bytes.size(), piece.bytes);
  const auto source = store->open(file, catalog);
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    if (spec.arrays[i].verbatim) continue;
    const std::string data = fixture::data_of(*source, catalog, spec.arrays[i].name);
    form.room.data[i].for_each_part({0, data.size()}, [&](std::uint64_t offset, Interval part) {
      again.replace(offset, part.size(), data, part.lo, part.size());
    });
  }
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "again.ckpt", again);
  store->checksum()->write(folder / "again.ckpt", form.room);
  return fixture::bytes_of(folder / "again.ckpt");
}

std::string tensor(const std::vector<std::uint64_t>& dims, const std::string& type, const std::string& content) {
  std::string bytes;
  for (const std::uint64_t extent : dims) protobuf::put_number(bytes, mindspore::dims_field, extent);
  protobuf::put_bytes(bytes, mindspore::type_field, type);
  protobuf::put_bytes(bytes, mindspore::content_field, content);
  return bytes;
}

std::string record(const std::string& tag, const std::string& tensor_bytes) {
  std::string inside;
  protobuf::put_bytes(inside, mindspore::tag_field, tag);
  protobuf::put_bytes(inside, mindspore::tensor_field, tensor_bytes);
  std::string bytes;
  protobuf::put_bytes(bytes, mindspore::record_field, inside);
  return bytes;
}

std::string refused(const std::string& bytes) {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.ckpt", bytes);
  const std::string said = fixture::refusal(*mindspore_store(), folder / "a.ckpt");
  CHECK_THAT(said, Contains("a.ckpt"));
  return said;
}

TEST_CASE("What MindSpore wrote is written again to the byte") {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(golden)) {
    const fs::path& file = entry.path();
    const std::string name = file.filename().string();
    const bool is_rank = name.starts_with("net_rank");
    if (file.extension() != ".ckpt" || (!is_rank && file.parent_path().filename() != "formats")) continue;
    // Encrypted; a hash table; slices of another writer; a scalar of 1.x.
    if (name.find("-CBC") != name.npos || name.find("-GCM") != name.npos || name == "map.ckpt" ||
        name == "sliced_async.ckpt" || name == "old_scalar.ckpt")
      continue;
    INFO(file.string());
    const std::string bytes = fixture::bytes_of(file);
    CHECK((written_again(file, name == "sliced.ckpt" ? 1024 : mindspore::slice_bytes) == bytes));
    ++files;
  }
  CHECK(files >= 44);
}

TEST_CASE("Slices of a tensor are its extents, whatever their sizes") {
  const auto store = mindspore_store();
  for (const char* const name : {"sliced.ckpt", "sliced_async.ckpt"}) {
    const FileCatalog catalog = store->catalog(golden / "formats" / name);
    CHECK(catalog.schema->datasets[catalog.schema->find("a")].extents.count() == 3);
    CHECK(catalog.schema->datasets[catalog.schema->find("b")].extents.count() >= 2);
    const auto source = store->open(golden / "formats" / name, catalog);
    const std::string whole = fixture::data_of(*source, catalog, "a");
    std::string part(100, '\0');
    source->read(catalog.schema->find("a"), 1000, std::as_writable_bytes(std::span(part)));
    CHECK(part == whole.substr(1000, 100));
  }
}

TEST_CASE("Texts, scalars of both spellings, and tensors without elements are told apart") {
  const auto store = mindspore_store();
  const auto schema_of = [&](const fs::path& file) { return store->catalog(file).schema; };
  const auto dtypes = schema_of(golden / "formats/dtypes.ckpt");
  CHECK(text_in(*dtypes->datasets[dtypes->find("empty")].verbatim) == "");
  CHECK_FALSE(text_in(*dtypes->datasets[dtypes->find("note")].verbatim)->empty());
  CHECK((*dtypes->arrays)[dtypes->find("int4")].dtype.name == "int4x2");
  CHECK((*schema_of(golden / "formats/old_scalar.ckpt")->arrays)[0].shape.empty());
  const TemporaryDirectory folder;
  const std::string packed =
      "\x0a\x02\x02\x03\x12\x04Int8\x1a\x06"
      "abcdef";
  fixture::put_bytes(folder / "a.ckpt", record("none", tensor({0}, "Float32", "")) + record("packed", packed) +
                                            record("old", tensor({2}, "Uint16", "abcd")) +
                                            record("state", tensor({9, 9}, "random_op", "xyz")));
  const auto schema = schema_of(folder / "a.ckpt");
  CHECK((*schema->arrays)[schema->find("none")].shape == Shape{0});
  CHECK((*schema->arrays)[schema->find("packed")].shape == Shape{2, 3});
  CHECK((*schema->arrays)[schema->find("old")].dtype == number_type("u16"));
  CHECK((*schema->arrays)[schema->find("state")].shape == Shape{3});
}

TEST_CASE("A text is written as it was read, in every plane of Unicode") {
  const TemporaryDirectory folder;
  const std::string text = "A\xc3\xa9\xe5\x90\x8d\xf0\x9f\x98\x80";
  fixture::put_bytes(folder / "a.ckpt", record("t", tensor({0}, "str", mindspore::utf32(text))));
  const auto schema = mindspore_store()->catalog(folder / "a.ckpt").schema;
  CHECK(text_in(*schema->datasets[0].verbatim) == text);
  CHECK(mindspore::utf32("") == std::string(4, '\0'));
  CHECK_THAT(refused(record("t", tensor({0}, "str", std::string("\0\xd8\0\0", 4)))), Contains("55296"));
  CHECK_THAT(refused(record("t", tensor({0}, "str", "abc"))), Contains("4 for each character"));
}

TEST_CASE("A CRC is compared when the data is opened") {
  const TemporaryDirectory folder;
  const auto store = mindspore_store();
  const FileCatalog whole = store->catalog(golden / "formats/crc.ckpt");
  CHECK_NOTHROW(store->open(golden / "formats/crc.ckpt", whole));
  std::string bytes = fixture::bytes_of(golden / "formats/crc.ckpt");
  char& last = bytes[bytes.size() - mindspore::crc_bytes - 1];  // of the last tensor
  last = static_cast<char>(last ^ 1);
  fixture::put_bytes(folder / "a.ckpt", bytes);
  const FileCatalog damaged = store->catalog(folder / "a.ckpt");
  CHECK_THAT(error_of([&] { store->open(folder / "a.ckpt", damaged); }), Contains("CRC") && Contains("a.ckpt"));
}

TEST_CASE("A CRC that was asked for is written last, and no fingerprint covers it") {
  const TemporaryDirectory folder;
  const auto store = mindspore_store();
  FileSpec spec;
  spec.arrays.push_back({"w", *number_type("u8"), {4}, {}, std::nullopt, std::nullopt});
  spec.layout = "{}";
  const FileRoom plain = store->create(folder / "plain.ckpt", spec);
  spec.has_checksum = true;
  const FileRoom room = store->create(folder / "a.ckpt", spec);
  CHECK(room.bytes == plain.bytes + mindspore::crc_bytes);
  REQUIRE(room.checksum);
  const std::string_view data = "data";
  store->open_to_fill(folder / "a.ckpt", room)->write(room.data[0].offset(), std::as_bytes(std::span(data)));
  const FileCatalog unfinished = store->catalog(folder / "a.ckpt");
  CHECK_THAT(error_of([&] { store->open(folder / "a.ckpt", unfinished); }), Contains("the CRC"));
  store->checksum()->write(folder / "a.ckpt", room);
  const auto source = store->open(folder / "a.ckpt", store->catalog(folder / "a.ckpt"));
  CHECK(source->sum_rest(std::nullopt) == room.metadata);
  CHECK(store->open_to_fill(folder / "a.ckpt", room)->sum_rest() == room.metadata);
  // A run that goes on with it finds its data, whether the CRC was there or not.
  const auto again = store->create_again(folder / "a.ckpt", spec);
  CHECK(again.room.checksum == room.checksum);
  CHECK(again.is_kept);
}

TEST_CASE("Encrypted files, strategies and hash tables are refused by name") {
  for (const std::string cipher : {"AES-GCM", "AES-CBC", "SM4-CBC"})
    CHECK_THAT(error_of([&] { Stores().reading().catalog(golden / "formats" / (cipher + ".ckpt")); }),
               Contains(cipher));
  CHECK_THAT(error_of([&] { Stores().reading().catalog(golden / "mesh2x4/strategy.ckpt"); }), Contains("strategy"));
  const FileCatalog catalog = mindspore_store()->catalog(golden / "formats/map.ckpt");
  const FileSpec spec = fixture::spec_of(*catalog.schema);
  for (const Format& format : formats())
    if (format.is_written)
      CHECK_THAT(error_of([&] { format.make(0)->losses(spec); }), Contains("table") && Contains("hash table"));
}

TEST_CASE("Records that lie are refused, and what is wrong is said") {
  const std::string w = tensor({2}, "Float32", "12345678");
  const std::string good = record("w", w);
  CHECK_THAT(refused(good + record("v", w) + good), Contains("/w") && Contains("second time"));
  CHECK_THAT(refused(record("w", tensor({3}, "Float32", "12345678"))), Contains("cut off where a record ends"));
  CHECK_THAT(refused(good + record("w", tensor({2}, "Float64", "12345678"))), Contains("two slices"));
  CHECK_THAT(refused(record("w", tensor({2}, "Float31", "12345678"))), Contains("Float31"));
  CHECK_THAT(refused(record("w", tensor({1ULL << 40, 1ULL << 40}, "Int8", "x"))), Contains("2^64"));
  CHECK_THAT(refused(record("w", tensor(std::vector<std::uint64_t>(33, 1), "Int8", "x"))), Contains("32 numbers"));
  CHECK_THAT(refused(good + "\x0a\x7f"), Contains("127 bytes"));
  CHECK_THAT(refused(good + "\x0a" + std::string(10, '\xff') + "\x01"), Contains("64 bits"));
  CHECK_THAT(refused(good + "\x0a" + std::string(9, '\xff') + "\x02"), Contains("64 bits"));
  CHECK_THAT(refused(good + "\x0b"), Contains("wire type 3"));
  CHECK_THAT(refused(good + std::string("\x02\x00", 2)), Contains("number 0"));
  CHECK_THAT(refused(record("w", w + w)), Contains("two"));
  CHECK_THAT(refused(good.substr(0, good.size() - 1)), Contains("beyond") || Contains("left of its message"));
  CHECK_THAT(refused(""), Contains("is empty"));
}

TEST_CASE("A large tensor is written in slices, and a field in front tells what MindSpore cannot") {
  FileSpec spec;
  spec.arrays.push_back({"w", *number_type("f32"), {5, 2}, {}, std::nullopt, std::nullopt});
  spec.arrays.push_back({"none", *number_type("f32"), {0, 2}, {}, std::nullopt, std::nullopt});
  const NewFile plain = mindspore::form_of(spec, 16);
  CHECK(plain.room.data[0].count() == 3);
  CHECK(plain.room.data[1].count() == 0);
  CHECK(plain.segments.front().bytes.front() == '\x0a');
  CHECK_FALSE(plain.room.is_in_order);
  spec.layout = "{}";
  const NewFile carrying = mindspore::form_of(spec, 16);
  CHECK(carrying.room.bytes > plain.room.bytes);
  CHECK(carrying.room.data[0].at(16).bytes == 16);
}

}  // namespace
