#include "store/catalog.hpp"

#include "catch.hpp"

using namespace ckpt;

namespace {

std::shared_ptr<Schema> sample(std::uint64_t offset = 4096) {
  auto schema = std::make_shared<Schema>();
  std::vector<StoredArray> arrays;
  const Value seven = integers_value({7});
  arrays.push_back({"a.weight", *number_type("f32"), {2, 3}, Shape{4, 3}, false});
  arrays.push_back({"b",
                    {ElementKind::other, ByteOrder::little, 3, "opaque3", std::string(2, '\0')},
                    Shape(0),
                    std::nullopt,
                    false});
  arrays.push_back({"notes", text_type(), Shape(0), std::nullopt, true});
  arrays.push_back({"sliced", *number_type("u8"), {30}, std::nullopt, false});
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(arrays);
  schema->datasets.resize(4);
  const std::vector<Attribute> attributes{{"unit", text_value("m")}, {"x", {*number_type("f64be"), {}, ""}}};
  schema->datasets[0] = {Storage::strided, FileExtents(offset, 24), attributes, {}, {}, 0, 0, Shape{1, 2}, {}};
  schema->datasets[1] = {Storage::filtered, {}, {}, {}, {}, 4096, 5000, {}, {}};
  schema->datasets[2] = {Storage::verbatim, {}, {}, text_value("hello"), {}, 0, 0, {}, {}};
  schema->datasets[3] = {Storage::raw,
                         FileExtents({{900, 910}, {800, 820}}),
                         {},
                         {},
                         LongTexts{text_type(), {3}, 99, {1, 2, 99}, 4096, 7, 512, 4, 8},
                         0,
                         0,
                         {},
                         Piece{{20}, {{"dp", 4, 3, 2}, {"", 2, 0, 0}}, {{1, 0}, {}}}};
  schema->datasets[1].views = {
      {1, "w", {{9, 4}, {{1, 3, 2, 2}, {0, 1, 1, 4}}}, {{4, 4}, {{0, 1, 1, 4}, {0, 1, 1, 4}}}}};
  schema->viewed = {{"../a.h5", 123}, {"b.h5", std::nullopt}};
  schema->attributes = {{"step", seven}};
  schema->groups = {{"g/h", {{"a", seven}}}};
  schema->layout = std::string("{}");
  schema->manifest = std::string("m");
  return schema;
}

void check_same(const FileCatalog& a, const FileCatalog& b) {
  CHECK(a.bytes == b.bytes);
  CHECK(a.modified_ns == b.modified_ns);
  CHECK(a.schema->viewed == b.schema->viewed);
  REQUIRE(a.schema->arrays->size() == b.schema->arrays->size());
  for (std::size_t i = 0; i < a.schema->arrays->size(); ++i) {
    const StoredArray& x = (*a.schema->arrays)[i];
    const StoredArray& y = (*b.schema->arrays)[i];
    CHECK(x.name == y.name);
    CHECK(x.dtype == y.dtype);
    CHECK(x.shape == y.shape);
    CHECK(x.global_shape == y.global_shape);
    CHECK(x.verbatim == y.verbatim);
    CHECK(a.schema->datasets[i].storage == b.schema->datasets[i].storage);
    CHECK(a.schema->datasets[i].extents == b.schema->datasets[i].extents);
    CHECK(a.schema->datasets[i].strides == b.schema->datasets[i].strides);
    CHECK(a.schema->datasets[i].attributes == b.schema->datasets[i].attributes);
    CHECK(a.schema->datasets[i].verbatim == b.schema->datasets[i].verbatim);
    CHECK(a.schema->datasets[i].texts == b.schema->datasets[i].texts);
    CHECK(a.schema->datasets[i].piece == b.schema->datasets[i].piece);
    CHECK(a.schema->datasets[i].views == b.schema->datasets[i].views);
    CHECK(a.schema->datasets[i].chunk_bytes == b.schema->datasets[i].chunk_bytes);
    CHECK(a.schema->datasets[i].decoding_bytes == b.schema->datasets[i].decoding_bytes);
  }
  CHECK(a.schema->attributes == b.schema->attributes);
  CHECK(a.schema->groups == b.schema->groups);
  CHECK(a.schema->layout == b.schema->layout);
  CHECK(a.schema->manifest == b.schema->manifest);
}

TEST_CASE("Arrays are found by name") {
  const auto schema = sample();
  CHECK(schema->find("a.weight") == 0);
  CHECK(schema->find("notes") == 2);
  for (const char* missing : {"", "a", "a.weighu", "c", "z"}) CHECK(schema->find(missing) == 4);
}

TEST_CASE("What holds data is told for all datasets together") {
  CHECK(data_intervals(*sample(5000)) == std::vector<Interval>{{5000, 5024}, {900, 910}, {800, 820}});
}

TEST_CASE("A catalog survives its encoding") {
  const FileCatalog catalog{sample(), 123456789, -5};
  check_same(catalog, decode_catalog(encode(catalog)));
}

TEST_CASE("Files with the same schema share one after decoding, whichever message they came in") {
  const auto first = sample(1);
  const auto other = sample(2);
  const auto equal = sample(1);
  const auto catalogs =
      decode_catalogs({encode(std::vector<FileCatalog>{{first, 1, 1}, {other, 2, 2}, {first, 3, 3}}),
                       encode(std::vector<FileCatalog>{}), encode(std::vector<FileCatalog>{{equal, 4, 4}})});
  REQUIRE(catalogs.size() == 4);
  CHECK(catalogs[0].schema == catalogs[2].schema);
  CHECK(catalogs[0].schema == catalogs[3].schema);
  CHECK(catalogs[0].schema != catalogs[1].schema);
  check_same(catalogs[1], {other, 2, 2});
  check_same(catalogs[3], {equal, 4, 4});
}

TEST_CASE("A damaged catalog is an error, never a crash") {
  const std::string good = encode(FileCatalog{sample(), 123, 456});
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_THROWS_AS(decode_catalog(good.substr(0, size)), Error);
  CHECK_THROWS_AS(decode_catalog(good + "x"), Error);
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      try {
        decode_catalog(bad);  // a changed name or number may pass: it is no checksum
      } catch (const Error&) {
      }
    }
}

}  // namespace
