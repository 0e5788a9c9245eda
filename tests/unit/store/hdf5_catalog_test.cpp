#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "store/hdf5/read_schema.hpp"
#include "store/helper_process.hpp"
#include "unit/store/hdf5_fixture.hpp"

namespace ckpt {
namespace {

using Catch::Matchers::Contains;
using fixture::as_bytes;
using fixture::counted;
using fixture::data_of;
using fixture::error_of;
using fixture::Folder;
using fixture::Maker;
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
  const Folder folder;
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
    CHECK(array.shape == Extents{2, 3});
    CHECK_FALSE(array.global_shape);
    CHECK(data_of(*source, catalog, array.name) == as_bytes(counted<float>(6)));
  }
}

TEST_CASE("Storage: contiguous, empty, scalar, compact, chunked, compressed; with and without a user block") {
  const hsize_t user_block = GENERATE(0, 512, 4096);
  const bool latest = GENERATE(false, true);
  const Folder folder;
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
  const Folder folder;
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
  CHECK(schema.arrays->front().global_shape == Extents{12, 3});

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
  const Folder folder;
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

TEST_CASE("Hard links are names of their own and may form cycles; soft links are aliases; named types are no tensors") {
  const Folder folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    file.dataset("g/h/w", H5T_STD_I8LE, {3}, "abc");
    const auto hard = [&](const char* target, const char* name) {
      hdf5::check(H5Lcreate_hard(file.file(), target, file.file(), name, H5P_DEFAULT, H5P_DEFAULT), "link");
    };
    hard("g/h/w", "again");
    hard("g", "g/h/up");
    hard("/", "g/root");
    hard("g/h", "g/h/self");
    hdf5::check(H5Lcreate_soft("g/h", file.file(), "soft", H5P_DEFAULT, H5P_DEFAULT), "link");
    hdf5::check(H5Lcreate_soft("/soft/w", file.file(), "softer", H5P_DEFAULT, H5P_DEFAULT), "link");
    const auto type = fixture::copy_of(H5T_STD_I16LE);
    hdf5::check(H5Tcommit2(file.file(), "type", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "commit");
    const std::int16_t value = 5;
    file.dataset("typed", type.get(), {1}, &value);
  }
  const FileCatalog catalog = hdf5_store()->catalog(folder / "a.h5");
  CHECK(names_of(*catalog.schema) == std::vector<std::string>{"again", "g/h/w", "typed"});
  CHECK((*catalog.schema->arrays)[2].dtype.name == "i16");
  CHECK(catalog.schema->datasets[0].extents.offset() == catalog.schema->datasets[1].extents.offset());
}

TEST_CASE("Links that lead out of the file or nowhere are refused by name") {
  const Folder folder;
  {
    const hdf5::Lock lock;
    Maker soft(folder / "soft.h5");
    hdf5::check(H5Lcreate_soft("missing", soft.file(), "s", H5P_DEFAULT, H5P_DEFAULT), "link");
    Maker external(folder / "external.h5");
    hdf5::check(H5Lcreate_external("soft.h5", "/s", external.file(), "x", H5P_DEFAULT, H5P_DEFAULT), "link");
    Maker loop(folder / "loop.h5");
    hdf5::check(H5Lcreate_soft("b", loop.file(), "a", H5P_DEFAULT, H5P_DEFAULT), "link");
    hdf5::check(H5Lcreate_soft("a", loop.file(), "b", H5P_DEFAULT, H5P_DEFAULT), "link");
  }
  const auto store = hdf5_store();
  const auto message = [&](const char* name) { return error_of([&] { store->catalog(folder / name); }); };
  CHECK_THAT(message("soft.h5"), Contains("soft.h5: /s: is a soft link to nothing"));
  CHECK_THAT(message("external.h5"), Contains("external.h5: /x: is a link to another file"));
  CHECK_THAT(message("loop.h5"), Contains("is a soft link to nothing"));
}

TEST_CASE("Groups linked to make endless names end in an error") {
  const Folder folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    std::string path;
    for (int depth = 0; depth < 24; ++depth) {  // two ways at each of 24 levels: 2^24 names
      hdf5::own<hdf5::GroupId>(H5Gcreate2(file.file(), (path + "/a").c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                               "group");
      hdf5::check(H5Lcreate_hard(file.file(), (path + "/a").c_str(), file.file(), (path + "/b").c_str(), H5P_DEFAULT,
                                 H5P_DEFAULT),
                  "link");
      path += "/a";
    }
  }
  CHECK_THAT(error_of([&] { hdf5_store()->catalog(folder / "a.h5"); }),
             Contains("more names than a file of this size"));
}

/// What is logged while it lives.
class Logged {
 public:
  Logged() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("", sink_)); }
  ~Logged() { spdlog::set_default_logger(before_); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  std::string text() const { return stream_.str(); }

 private:
  std::ostringstream stream_;
  std::shared_ptr<spdlog::sinks::ostream_sink_mt> sink_ = std::make_shared<spdlog::sinks::ostream_sink_mt>(stream_);
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

/// What a file's parts say together, as bytes.
std::string in_parts(const std::filesystem::path& path, std::uint64_t count, std::vector<std::size_t>& sizes) {
  const hdf5::Lock lock;
  const PosixFile file = PosixFile::open_for_reading(path);
  std::vector<hdf5::SchemaReading> parts;
  sizes.clear();
  for (std::uint64_t part = 0; part < count; ++part) {
    parts.push_back(hdf5::read_schema(lock, file, file.status().bytes, {part, count}));
    sizes.push_back(parts.back().schema->datasets.size());
  }
  hdf5::SchemaReading all = hdf5::joined(parts);
  CHECK(all.is_whole);
  std::string text = encode(FileCatalog{all.schema, 0, 0});
  for (auto* told : {&all.left_out, &all.remarks}) {
    std::sort(told->begin(), told->end());
    for (const std::string& each : *told) text += "\n" + each;
  }
  return text;
}

TEST_CASE("A file that is read in parts says what it says as a whole") {
  const Folder folder;
  const auto path = folder / "a.h5";
  const std::string shape = GENERATE("flat", "nested", "chain", "empty");
  {
    const hdf5::Lock lock;
    Maker file(path, 0, GENERATE(false, true));
    const std::int64_t step = 7;
    file.attribute(file.file(), "step", H5T_STD_I64LE, {}, &step);
    const auto add = [&](const std::string& name) {
      const auto id = file.dataset(name, H5T_STD_I64LE, {}, &step);
      file.attribute(id.get(), "of", H5T_STD_I64LE, {}, &step);
      const hobj_ref_t reference{};
      file.attribute(id.get(), "reference", H5T_STD_REF_OBJ, {}, &reference);
    };
    std::string deep;
    for (int i = 0; i < 100 && shape != "empty"; ++i) {
      deep += "d/";
      const std::string name = std::to_string(i * 7919 % 100);
      if (shape == "flat") add(name);
      if (shape == "nested") add("model/layers/" + name + "/w");
      // Small groups in small groups, more of them than every part walks.
      for (int j = 0; j < 12 && shape == "chain"; ++j) add(deep + std::to_string(j));
    }
    if (shape == "nested")
      for (const char* name : {"/model", "/model/layers", "/model/layers/5"}) {
        const auto group = hdf5::own<hdf5::GroupId>(H5Gopen2(file.file(), name, H5P_DEFAULT), "group");
        file.attribute(group.get(), "of", H5T_STD_I64LE, {}, &step);
        const auto type = fixture::copy_of(H5T_STD_I64LE);
        hdf5::check(H5Tcommit2(group.get(), "type", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "type");
      }
  }
  std::vector<std::size_t> sizes;
  const std::string whole = in_parts(path, 1, sizes);
  for (const std::uint64_t count : {2, 3, 8}) {
    CAPTURE(count);
    CHECK((in_parts(path, count, sizes) == whole));  // bytes that nobody wants to see
    if (shape == "flat") CHECK(*std::max_element(sizes.begin(), sizes.end()) <= 100 / count + 1);
    if (shape == "nested") CHECK(*std::max_element(sizes.begin(), sizes.end()) <= 101 / count + 1);
  }
}

TEST_CASE("A walk ends at more names than were asked for") {
  const Folder folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    for (int i = 0; i < 20; ++i) file.dataset("g" + std::to_string(i) + "/w", H5T_STD_I64LE, {}, nullptr);
  }
  const hdf5::Lock lock;
  const PosixFile file = PosixFile::open_for_reading(folder / "a.h5");
  for (const auto& [most, datasets] : {std::pair{40U, 20U}, {39U, 19U}, {20U, 0U}, {0U, 0U}}) {
    const auto reading = hdf5::read_schema(lock, file, file.status().bytes, {0, 1, most});
    CHECK(reading.is_whole == (most == 40));
    CHECK(reading.schema->datasets.size() == datasets);
  }
}

TEST_CASE("A file of very many datasets is catalogued whole, and its errors are told of as those of a small one") {
  const Folder folder;
  const bool is_damaged = GENERATE(false, true);
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    for (int i = 0; i < 5000; ++i) file.dataset(std::to_string(i), H5T_STD_I64LE, {}, nullptr);
    if (is_damaged)
      for (const char* name : {"4998x", "1000x"})
        hdf5::check(H5Lcreate_external("other.h5", "w", file.file(), name, H5P_DEFAULT, H5P_DEFAULT), "link");
  }
  const auto helper = std::make_unique<HelperProcess>();
  const auto store = hdf5_store();
  if (is_damaged)
    CHECK_THAT(error_of([&] { store->catalog(folder / "a.h5"); }), Contains("/1000x: is a link to another file"));
  else
    CHECK(store->catalog(folder / "a.h5").schema->datasets.size() == 5000);
}

TEST_CASE("What is left out is logged in this process, with the file's name") {
  const Folder folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const auto dataset = file.dataset("g/w", H5T_IEEE_F32LE, {1}, counted<float>(1).data());
    hobj_ref_t reference{};
    hdf5::check(H5Rcreate(&reference, file.file(), "g", H5R_OBJECT, -1), "reference");
    file.attribute(dataset.get(), "parent", H5T_STD_REF_OBJ, {}, &reference);
    const auto type = fixture::copy_of(H5T_STD_I32LE);
    hdf5::check(H5Tcommit2(file.file(), "type", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "commit");
  }
  const Logged logged;
  hdf5_store()->catalog(folder / "a.h5");
  const std::string path = (folder / "a.h5").string();
  CHECK_THAT(logged.text(),
             Contains(path + ": attributes that refer to objects of the file are left out: parent of /g/w"));
  CHECK_THAT(logged.text(), Contains(path + ": /type is left out: a named datatype, no tensor"));
}

}  // namespace
}  // namespace ckpt
