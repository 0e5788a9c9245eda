#include <algorithm>

#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using fixture::as_bytes;
using fixture::counted;
using fixture::data_of;
using fixture::Maker;
using fixture::TemporaryDirectory;
using fixture::text_type;

std::vector<std::string> names_of(const Schema& schema) {
  std::vector<std::string> names;
  for (const auto& array : *schema.arrays) names.push_back(array.name);
  return names;
}

const Attribute& find(const std::vector<Attribute>& attributes, const std::string& name) {
  for (const auto& attribute : attributes)
    if (attribute.name == name) return attribute;
  throw std::runtime_error("no attribute " + name);
}

TEST_CASE("A file's datasets are listed by path, sorted by bytes") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const auto data = counted<float>(6);
    for (const char* name : {"b", "a/b/c", "a/b c", "a-b", "B", "layers.10.w", "layers.2.w", "\xc3\xbc"})
      file.dataset(name, H5T_IEEE_F32LE, {2, 3}, data.data());
  }
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  CHECK(names_of(*catalog.schema) ==
        std::vector<std::string>{"B", "a-b", "a/b c", "a/b/c", "b", "layers.10.w", "layers.2.w", "\xc3\xbc"});
  CHECK(catalog.bytes == std::filesystem::file_size(folder / "a.h5"));
  CHECK(catalog.modified_ns > 0);
  const auto source = store->open(folder / "a.h5", catalog);
  for (const auto& array : *catalog.schema->arrays) {
    CHECK(array.dtype.name == "f32");
    CHECK(array.shape == Shape{2, 3});
    CHECK_FALSE(array.global_shape);
    CHECK(data_of(*source, catalog, array.name) == as_bytes(counted<float>(6)));
  }
}

TEST_CASE("Storage: contiguous, empty, scalar, compact, chunked, compressed; with and without a user block") {
  const hsize_t user_block = GENERATE(0, 512, 4096);
  const bool latest = GENERATE(false, true);
  const TemporaryDirectory folder;
  const auto data = counted<std::int32_t>(35 * 9);
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5", user_block, latest);
    const auto chunk = [](hid_t creation) {
      const hsize_t extents[] = {8, 4};
      hdf5::check(H5Pset_chunk(creation, 2, extents), "chunk");
    };
    const auto gzip = [&](hid_t creation) {
      chunk(creation);
      hdf5::check(H5Pset_shuffle(creation), "shuffle");
      hdf5::check(H5Pset_deflate(creation, 6), "deflate");
    };
    file.dataset("contiguous", H5T_STD_I32LE, {35, 9}, data.data());
    file.dataset("empty", H5T_STD_I32LE, {0, 9}, nullptr);
    file.dataset("scalar", H5T_STD_I32LE, {}, data.data() + 7);
    file.dataset("compact", H5T_STD_I32LE, {5, 3}, data.data(),
                 [](hid_t creation) { hdf5::check(H5Pset_layout(creation, H5D_COMPACT), "compact"); });
    file.dataset("chunked", H5T_STD_I32LE, {35, 9}, data.data(), chunk);
    file.dataset("gzip", H5T_STD_I32LE, {35, 9}, data.data(), gzip);
  }
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  const auto storage = [&](const char* name) { return catalog.schema->datasets[catalog.schema->find(name)].storage; };
  CHECK(storage("contiguous") == Storage::raw);
  CHECK(storage("scalar") == Storage::raw);
  CHECK(storage("empty") == Storage::empty);
  for (const char* name : {"compact", "chunked", "gzip"}) CHECK(storage(name) == Storage::filtered);

  const auto source = store->open(folder / "a.h5", catalog);
  for (const char* name : {"contiguous", "chunked", "gzip"}) CHECK(data_of(*source, catalog, name) == as_bytes(data));
  CHECK(data_of(*source, catalog, "compact") == as_bytes(counted<std::int32_t>(15)));
  CHECK(data_of(*source, catalog, "scalar") == as_bytes(std::vector<std::int32_t>{7}));
  CHECK(data_of(*source, catalog, "empty").empty());

  for (const char* name : {"contiguous", "gzip"})  // any flat range
    for (const auto& [from, count] : {std::pair{0, 1}, {5, 20}, {9, 18}, {13, 200}, {314, 1}, {0, 315}, {100, 0}}) {
      std::vector<std::int32_t> found(static_cast<std::size_t>(count));
      source->read(catalog.schema->find(name), static_cast<std::uint64_t>(from) * 4,
                   std::as_writable_bytes(std::span(found)));
      CHECK(found == std::vector<std::int32_t>(data.begin() + from, data.begin() + from + count));
    }
  std::vector<std::int32_t> beyond(2);
  CHECK_THROWS_AS(source->read(catalog.schema->find("gzip"), 314 * 4, std::as_writable_bytes(std::span(beyond))),
                  Error);
  CHECK_THROWS_AS(source->read(catalog.schema->find("contiguous"), 314 * 4, std::as_writable_bytes(std::span(beyond))),
                  Error);
  CHECK_THROWS_AS(source->read(catalog.schema->find("gzip"), 2, std::as_writable_bytes(std::span(beyond))), Error);
}

TEST_CASE("Attributes of any type come with their values, the project's own are taken out") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const auto dataset = file.dataset("g/w", H5T_STD_I8LE, {3}, "abc");
    const std::int64_t shape[] = {12, 3};
    const char* words[] = {"one", "", "three"};
    file.attribute(dataset.get(), "ckpt_global_shape", H5T_STD_I64LE, {2}, shape);
    file.attribute(dataset.get(), "words", text_type().get(), {3}, words);
    file.attribute(dataset.get(), "numbers", H5T_STD_I64LE, {2, 1}, shape);
    const hvl_t sequences[] = {{2, const_cast<std::int64_t*>(shape)}, {0, nullptr}};
    file.attribute(dataset.get(), "sequences", hdf5::own<hdf5::TypeId>(H5Tvlen_create(H5T_STD_I64LE), "vlen").get(),
                   {2}, sequences);
    file.attribute(file.file(), "ckpt_layout", text_type(10).get(), {}, "{\"a\": 1}\0\0");
    const char* manifest = "the manifest";
    file.attribute(file.file(), "ckpt_manifest", text_type().get(), {}, &manifest);
    const std::int32_t step = 7;
    file.attribute(file.file(), "step", H5T_STD_I32LE, {}, &step);
    const hdf5::ObjectId group(H5Oopen(file.file(), "g", H5P_DEFAULT));
    file.attribute(group.get(), "kind", text_type(5).get(), {}, "layer");
    hobj_ref_t reference{};
    hdf5::check(H5Rcreate(&reference, file.file(), "g", H5R_OBJECT, -1), "reference");
    file.attribute(dataset.get(), "reference", H5T_STD_REF_OBJ, {}, &reference);
  }
  const FileCatalog catalog = hdf5_store()->catalog(folder / "a.h5");
  const Schema& schema = *catalog.schema;
  CHECK(schema.layout == "{\"a\": 1}");
  CHECK(schema.manifest == "the manifest");
  REQUIRE(schema.attributes.size() == 1);
  CHECK(schema.attributes[0].name == "step");
  CHECK(schema.attributes[0].value.bytes == std::string("\7\0\0\0", 4));
  REQUIRE(schema.groups.size() == 1);
  CHECK(schema.groups[0].path == "g");
  CHECK(find(schema.groups[0].attributes, "kind").value.bytes == "layer");
  CHECK(schema.arrays->front().global_shape == Shape{12, 3});

  const auto& attributes = schema.datasets.front().attributes;
  REQUIRE(attributes.size() == 3);  // sorted, without the reference
  CHECK(attributes[0].name == "numbers");
  CHECK(find(attributes, "words").value.bytes ==
        std::string("\3\0\0\0\0\0\0\0one\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0three", 32));
  CHECK(find(attributes, "sequences").value.bytes == std::string("\2\0\0\0\0\0\0\0", 8) +
                                                         std::string("\14\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16) +
                                                         std::string(8, '\0'));
}

TEST_CASE("Variable-length data and empty dataspaces are kept as they are") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const char* words[] = {"one", "three"};
    file.dataset("words", text_type().get(), {2}, words);
    const auto null = hdf5::own<hdf5::SpaceId>(H5Screate(H5S_NULL), "space");
    hdf5::own<hdf5::DatasetId>(
        H5Dcreate2(file.file(), "null", H5T_IEEE_F32LE, null.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "null");
  }
  const FileCatalog catalog = hdf5_store()->catalog(folder / "a.h5");
  for (const char* name : {"words", "null"}) {
    const std::size_t index = catalog.schema->find(name);
    CHECK((*catalog.schema->arrays)[index].verbatim);
    CHECK(catalog.schema->datasets[index].storage == Storage::verbatim);
    CHECK(catalog.schema->datasets[index].verbatim);
  }
  CHECK(catalog.schema->datasets[0].verbatim->bytes.empty());
  CHECK(catalog.schema->datasets[1].verbatim->bytes == std::string("\3\0\0\0\0\0\0\0one\5\0\0\0\0\0\0\0three", 24));
}

}  // namespace
