#include <filesystem>

#include "catch.hpp"
#include "store/npz/npy_header.hpp"
#include "store/npz/npz_store.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::TemporaryDirectory;

const std::filesystem::path golden = std::filesystem::path(CKPT_SOURCE_DIR) / "tests/golden/numpy";

/// An array as NumPy stores it: version 1, and a header of `text`.
std::string npy(const std::string& text, const std::string& elements = "") {
  return "\x93NUMPY" + fixture::little(1, 2) + fixture::little(text.size(), 2) + text + elements;
}

std::string header(const std::string& type, const std::string& shape, const std::string& by_columns = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + by_columns + ", 'shape': " + shape + ", }\n";
}

/// The catalog of a file of these bytes, and the first array's elements.
struct Read {
  std::shared_ptr<const Schema> schema;
  std::string elements;
};

Read read(const std::string& bytes) {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.npz", bytes);
  const auto store = npz_store();
  const FileCatalog catalog = store->catalog(folder / "a.npz");
  Read found{catalog.schema, ""};
  found.elements.resize(bytes_of(catalog.schema->arrays->front()));
  if (!found.elements.empty())
    store->open(folder / "a.npz", catalog)->read(0, 0, std::as_writable_bytes(std::span(found.elements)));
  return found;
}

std::string refusal(const std::string& bytes) {
  return error_of([&] { read(bytes); });
}

}  // namespace

TEST_CASE("an array of NumPy alone is a tensor; in an archive each has its name") {
  const Read lone = read(npy(header("<i2", "(2, 1)"), "abcd"));
  CHECK(lone.schema->arrays->front().name == "array");
  CHECK(lone.schema->arrays->front().shape == Shape{2, 1});
  CHECK(lone.elements == "abcd");
  const Read two =
      read(fixture::zip({{"b/w.npy", npy(header("|b1", "()"), "x")}, {"a.npy", npy(header("<i2", "(1,)"), "yz")}}));
  REQUIRE(two.schema->arrays->size() == 2);
  CHECK((*two.schema->arrays)[0].name == "a");
  CHECK((*two.schema->arrays)[1].name == "b/w");
  CHECK((*two.schema->arrays)[1].shape.empty());
  CHECK(two.elements == "yz");
}

TEST_CASE("elements of any order and any type are read, or refused by name") {
  CHECK(read(npy(header("<i2", "(0, 7)"))).elements.empty());
  CHECK(read(npy(header(">f4", "(1,)"), "1234")).schema->arrays->front().dtype == *number_type("f32be"));
  CHECK(read(npy(header("|V2", "(1,)"), "12")).schema->arrays->front().dtype.size == 2);
  CHECK(read(npy(header("|i1", "(2L, 3L)", "True"), "adbecf")).elements == "abcdef");
  for (const char* const type : {"|O", "<U3", "|V0", "|V", "<f3", ""})
    CHECK((*read(npy(header(type, "(0,)"))).schema->arrays)[0].refusal);
  CHECK((*read(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }")).schema->arrays)[0].refusal);
}

TEST_CASE("headers that are damaged are refused, and nothing in them is evaluated") {
  CHECK_THAT(refusal(npy("__import__('os').system('true')\n")), Contains("\"{\""));
  CHECK_THAT(refusal(npy(header("<f4", "(2,)"), "1234")), Contains("4 bytes of elements, expected 8"));
  CHECK_THAT(refusal(npy(header("<f4", "(1,)"), "12345678")), Contains("8 bytes of elements, expected 4"));
  CHECK_THAT(refusal(npy(header("<f4", "(-1,)"), "")), Contains("a shape with"));
  CHECK_THAT(refusal(npy(header("<f4", "(18446744073709551615, 2)"), "")), Contains("2^64"));
  CHECK_THAT(refusal(npy(header("<f4", "(18446744073709551616,)"), "")), Contains("a shape with"));
  CHECK_THAT(refusal(npy("{'descr': '<f4', 'other': 1}")), Contains("other"));
  CHECK_THAT(refusal(npy("{'descr")), Contains("without an end"));
  CHECK_THAT(refusal(fixture::zip({{"a.npy", "text"}})), Contains("a.npy"));
  CHECK_THAT(refusal(fixture::zip({{"a.npy", npy(header("|b1", "()"), "x")}, {"b.txt", ""}})), Contains("no array"));
  const std::string sound = npy(header("<i2", "(2, 1)"), "abcd");
  for (std::size_t bytes = 0; bytes < sound.size(); ++bytes) CHECK_FALSE(refusal(sound.substr(0, bytes)).empty());
}

TEST_CASE("any byte of NumPy's own files may be another, which is found or is in no element") {
  for (const char* const name : {"plain.npz", "deflated.npz"}) {
    const std::string bytes = fixture::bytes_of(golden / name);
    const Read sound = read(bytes);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      Read found;
      if (!error_of([&] { found = read(damaged); }).empty()) continue;
      const StoredArray& first = found.schema->arrays->front();
      INFO(name << ", byte " << at);
      if (first.name == sound.schema->arrays->front().name && !first.refusal) CHECK(found.elements == sound.elements);
    }
  }
}
