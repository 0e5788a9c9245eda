#include <malloc.h>

#include <ctime>
#include <random>
#include <set>

#include "catch.hpp"
#include "io/outside_data.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::array;
using fixture::as_bytes;
using fixture::bytes_of;
using fixture::error_of;
using fixture::Maker;
using fixture::spec_of;
using fixture::TemporaryDirectory;
using fixture::text_type;

/// Every kind of array and attribute, of the sizes that HDF5 stores in different ways.
FileSpec varied(const TemporaryDirectory& folder) {
  {
    const hdf5::Lock lock;
    Maker file(folder / "model.h5");
    const auto values = fixture::counted<std::int64_t>(20000);
    const char* words[] = {"one", "", "a third word"};
    const auto dataset = file.dataset("g/notes", text_type().get(), {3}, words);
    file.attribute(dataset.get(), "words", text_type().get(), {3}, words);
    file.attribute(dataset.get(), "few", H5T_STD_I64BE, {2, 2}, values.data());
    for (int i = 0; i < 20; ++i)  // more than an object header holds: stored densely
      file.attribute(file.file(), "attribute " + std::to_string(i), H5T_STD_I64LE, {1}, values.data() + i);
    const hdf5::ObjectId group(H5Oopen(file.file(), "g", H5P_DEFAULT));
    file.attribute(group.get(), "kind", text_type(5).get(), {}, "layer");
    const auto null = hdf5::own<hdf5::SpaceId>(H5Screate(H5S_NULL), "space");
    hdf5::own<hdf5::DatasetId>(
        H5Dcreate2(file.file(), "null", H5T_IEEE_F32LE, null.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "null");
  }
  FileSpec spec = spec_of(*hdf5_store()->catalog(folder / "model.h5").schema);
  const hdf5::Lock lock;
  spec.arrays.push_back(array("z last", H5T_IEEE_F32LE, {3, 5}));
  spec.arrays.push_back(array("layers/0/w.x-y", H5T_IEEE_F32LE, {1024, 3}));
  spec.arrays.push_back(array("layers/0/empty", H5T_IEEE_F32LE, {0, 3}));
  spec.arrays.back().global_shape = Shape{7, 3};
  spec.arrays.push_back(array("scalar", H5T_IEEE_F64BE, {}));
  spec.arrays.push_back(array("\xc3\xbc", H5T_STD_I8LE, {1}));
  spec.arrays.push_back(array("big", H5T_STD_I8LE, {10, 1000, 1000}));
  spec.arrays.push_back(array("in a block", H5T_STD_I8LE, {2000, 1000}));
  spec.arrays.back().place_in_block = 2056;
  spec.layout = std::string(200'000, 'l');
  for (int i = 0; spec.manifest.size() < 3'000'000; ++i) spec.manifest += std::to_string(i) + " ";
  return spec;
}

/// Where in the file an array's data is to begin when the one before it ends at `end`.
std::uint64_t next_place(std::uint64_t end, const FileSpec::Array& array) {
  const std::uint64_t step = array.place_in_block || numel(array.shape) * array.dtype.size >= 4096 ? 4096 : 64;
  const std::uint64_t in_block = array.place_in_block.value_or(0);
  return end <= in_block ? in_block : (end - in_block + step - 1) / step * step + in_block;
}

TEST_CASE("A new file has all metadata, and room for data in the order of its specification") {
  const TemporaryDirectory folder;
  const FileSpec spec = varied(folder);
  const auto store = hdf5_store();
  const FileRoom room = store->create(folder / "a.h5", spec);
  REQUIRE(room.data.size() == spec.arrays.size());
  CHECK(room.bytes == std::filesystem::file_size(folder / "a.h5"));

  const FileCatalog catalog = store->catalog(folder / "a.h5");
  CHECK(catalog.schema->layout == spec.layout);
  CHECK(catalog.schema->manifest == spec.manifest);
  CHECK(catalog.schema->attributes == spec.attributes);
  CHECK(catalog.schema->groups == spec.groups);
  const std::string bytes = bytes_of(folder / "a.h5");
  std::uint64_t end = 64;
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    const FileSpec::Array& expected = spec.arrays[i];
    CAPTURE(expected.name);
    const std::size_t index = catalog.schema->find(expected.name);
    REQUIRE(index < catalog.schema->datasets.size());
    const StoredArray& found = (*catalog.schema->arrays)[index];
    const Dataset& dataset = catalog.schema->datasets[index];
    CHECK(found.dtype == expected.dtype);
    CHECK(found.shape == expected.shape);
    CHECK(found.global_shape == expected.global_shape);
    CHECK(dataset.attributes == expected.attributes);
    CHECK(found.verbatim == expected.verbatim.has_value());
    CHECK(dataset.verbatim == expected.verbatim);
    if (expected.verbatim || numel(expected.shape) == 0) continue;
    CHECK(dataset.storage == Storage::raw);
    CHECK(dataset.extents.offset() == room.data[i].offset());
    const std::uint64_t size = numel(expected.shape) * expected.dtype.size;
    CHECK(room.data[i].offset() == next_place(end, spec.arrays[i]));
    end = room.data[i].offset() + size;
  }
  CHECK(end < room.bytes);
  CHECK(bytes.find_first_not_of('\0', 64) >= end);
}

TEST_CASE("Whatever is written where data lies, in the gaps between it too, changes no metadata") {
  const TemporaryDirectory folder;
  std::mt19937 dice(GENERATE(range(0U, 12U)));
  const auto below = [&](std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(dice);
  };
  FileSpec spec = varied(folder);
  {
    const hdf5::Lock lock;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t sizes[] = {below(3), 4094 + below(4), below(200), below(20'000)};
      spec.arrays.push_back(array((i % 7 == 0 ? "g/" : "") + std::to_string(i), H5T_STD_I8LE, {sizes[below(4)]}));
      if (below(2) == 0) spec.arrays.back().attributes = spec.attributes;  // more than fit into an object's header
    }
  }
  std::shuffle(spec.arrays.begin(), spec.arrays.end(), dice);
  const FileRoom room = hdf5_store()->create(folder / "a.h5", spec);
  const FileSpec before = spec_of(*hdf5_store()->catalog(folder / "a.h5").schema);
  std::uint64_t first = room.bytes;
  std::uint64_t end = 64;
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    const std::uint64_t size = spec.arrays[i].verbatim ? 0 : numel(spec.arrays[i].shape) * spec.arrays[i].dtype.size;
    if (size == 0) {
      CHECK(room.data[i].offset() == 0);
      continue;
    }
    CHECK(room.data[i].offset() == next_place(end, spec.arrays[i]));
    first = std::min(first, room.data[i].offset());
    end = room.data[i].offset() + size;
  }
  const std::string other(end - first, '\xa5');
  PosixFile::open_for_writing(folder / "a.h5").write(first, std::as_bytes(std::span(other)));
  const FileCatalog after = hdf5_store()->catalog(folder / "a.h5");
  CHECK((spec_of(*after.schema) == before));
  const auto source = hdf5_store()->open(folder / "a.h5", after);
  for (std::size_t i = 0; i < spec.arrays.size(); ++i)
    if (room.data[i].offset() != 0)
      CHECK(fixture::data_of(*source, after, spec.arrays[i].name).find_first_not_of('\xa5') == std::string::npos);
}

TEST_CASE("Four times as many arrays take about four times as long to make, not sixteen times") {
  const TemporaryDirectory folder;
  const auto seconds = [&](int count) {
    FileSpec spec;
    {
      const hdf5::Lock lock;
      for (int i = 0; i < count; ++i)  // small ones that would leave gaps if they were aligned as large ones are
        spec.arrays.push_back(array(std::to_string(i), H5T_STD_I8LE, {i % 10 == 0 ? 8192U : 32U}));
    }
    const std::clock_t start = std::clock();
    hdf5_store()->create(folder / "a.h5", spec);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  // The best of three: others' work on the machine slows down any one.
  const auto best = [&](int count) { return std::min({seconds(count), seconds(count), seconds(count)}); };
  best(10);  // HDF5 starts
  const double few = best(2000);
  const double many = best(8000);
  CAPTURE(few, many);
  CHECK(many < 8 * few);
}

TEST_CASE("What is written by offset is what HDF5 reads") {
  const TemporaryDirectory folder;
  FileSpec spec;
  {
    const hdf5::Lock lock;
    spec.arrays = {array("a/b", H5T_STD_I32LE, {4, 3}), array("c", H5T_STD_I16LE, {5})};
  }
  const FileRoom room = hdf5_store()->create(folder / "a.h5", spec);
  const auto data = fixture::counted<std::int32_t>(12);
  PosixFile::open_for_writing(folder / "a.h5").write(room.data[0].offset(), std::as_bytes(std::span(data)));
  const hdf5::Lock lock;
  const hdf5::FileId file(H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, hdf5::file_access().get()));
  const hdf5::DatasetId dataset(H5Dopen2(file.get(), "a/b", H5P_DEFAULT));
  std::vector<std::int32_t> found(12);
  hdf5::check(H5Dread(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), "read");
  CHECK(found == data);
}

TEST_CASE("A file's bytes follow from its specification, through HDF5 or from a known skeleton") {
  const TemporaryDirectory folder;
  const FileSpec spec = varied(folder);
  const auto store = hdf5_store();
  const FileRoom first = store->create(folder / "first.h5", spec);
  fixture::put_bytes(folder / "known.h5", std::string(300'000, 'x'));  // is replaced, not reused
  const FileRoom known = store->create(folder / "known.h5", spec);
  mallopt(M_PERTURB, 0x5a);  // whatever HDF5 leaves uninitialised would show
  const FileRoom again = hdf5_store()->create(folder / "again.h5", spec);
  mallopt(M_PERTURB, 0);
  const std::string bytes = bytes_of(folder / "first.h5");
  CHECK((bytes_of(folder / "known.h5") == bytes));
  CHECK((bytes_of(folder / "again.h5") == bytes));
  for (const FileRoom* room : {&known, &again}) {
    CHECK(room->data == first.data);
    CHECK(room->bytes == first.bytes);
  }
}

TEST_CASE("A file that is made again keeps its data, unless something but data differs in size or in a gap") {
  const TemporaryDirectory folder;
  FileSpec spec;
  {
    const hdf5::Lock lock;
    spec.arrays = {array("a", H5T_STD_I8LE, {10}), array("b", H5T_IEEE_F32LE, {1024, 3})};
  }
  const FileRoom room = hdf5_store()->create(folder / "a.h5", spec);
  const std::string made = bytes_of(folder / "a.h5");
  std::string with_data = made;
  with_data.replace(room.data[0].offset(), 10, 10, 'a');
  with_data.replace(room.data[1].offset(), 12288, 12288, 'b');
  const auto again = [&](const std::string& found) {
    fixture::put_bytes(folder / "a.h5", found);
    const auto [same, is_kept] = hdf5_store()->create_again(folder / "a.h5", spec);
    CHECK(same.data == room.data);
    CHECK(same.metadata == room.metadata);
    CHECK((bytes_of(folder / "a.h5") == (is_kept ? with_data : made)));
    return is_kept;
  };
  CHECK(again(with_data));
  for (const std::uint64_t metadata : {std::uint64_t{9}, room.bytes - 1}) {
    std::string damaged = with_data;
    damaged[metadata] = '!';
    CHECK(again(damaged));
  }
  std::string damaged = with_data;
  damaged[room.data[0].offset() + 10] = '!';
  CHECK_FALSE(again(damaged));
  CHECK_FALSE(again(with_data + '!'));
  std::filesystem::remove(folder / "a.h5");
  CHECK_FALSE(hdf5_store()->create_again(folder / "a.h5", spec).is_kept);
}

TEST_CASE("Specifications that differ in anything make files that differ") {
  const TemporaryDirectory folder;
  FileSpec spec;
  {
    const hdf5::Lock lock;
    spec.arrays = {array("a", H5T_STD_I32LE, {4, 3}), array("c", H5T_STD_I16LE, {5})};
    spec.layout = std::string("{}");
  }
  const auto store = hdf5_store();
  std::set<std::string> files;
  const auto create = [&](const FileSpec& changed) {
    for (int twice = 0; twice < 2; ++twice) {
      store->create(folder / "a.h5", changed);
      files.insert(bytes_of(folder / "a.h5"));
    }
  };
  create(spec);
  std::vector<FileSpec> changed(6, spec);
  changed[0].arrays[0].name = std::string("b");
  changed[1].arrays[0].shape = Shape{3, 4};
  changed[2].arrays[1].global_shape = Shape{6};
  changed[3].layout = std::string("[]");
  changed[4].arrays[0].dtype = *number_type("i32be");
  changed[5].groups = {{"g", {}}};
  for (const auto& each : changed) create(each);
  CHECK(files.size() == 7);
}

TEST_CASE("Many small arrays are packed") {
  const TemporaryDirectory folder;
  FileSpec spec;
  {
    const hdf5::Lock lock;
    for (int i = 0; i < 200; ++i) spec.arrays.push_back(array(std::to_string(i), H5T_STD_I8LE, {1}));
  }
  const FileRoom room = hdf5_store()->create(folder / "a.h5", spec);
  CHECK(room.data.back().offset() == 200 * 64);
  CHECK(room.bytes < 200 * (64 + 512));
}

TEST_CASE("A file without data is a file") {
  const TemporaryDirectory folder;
  const FileRoom room = hdf5_store()->create(folder / "a.h5", {});
  CHECK(room.bytes == std::filesystem::file_size(folder / "a.h5"));
  CHECK(hdf5_store()->catalog(folder / "a.h5").schema->arrays->empty());
}

TEST_CASE("Names that HDF5 cannot store are refused before a file is made") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  for (const std::string name : {"", "/", "/a", "a/", "a//b", ".", "a/.", "./a", "a/./b"}) {
    FileSpec spec;
    {
      const hdf5::Lock lock;
      spec.arrays = {array(name, H5T_STD_I8LE, {1})};
    }
    CHECK_THAT(error_of([&] { store->create(folder / "a.h5", spec); }), Contains("dataset name \"" + name + "\""));
    CHECK_FALSE(std::filesystem::exists(folder / "a.h5"));
  }
  FileSpec spec;
  {
    const hdf5::Lock lock;
    for (const char* name : {"..", "...", "a/..b", " ", "a b/-c.d"})
      spec.arrays.push_back(array(name, H5T_STD_I8LE, {1}));
  }
  store->create(folder / "a.h5", spec);
  CHECK(store->catalog(folder / "a.h5").schema->arrays->size() == 5);
}

TEST_CASE("What cannot be made says why: a dataset inside a dataset, a folder that is missing") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  FileSpec spec;
  {
    const hdf5::Lock lock;
    spec.arrays = {array("a", H5T_STD_I8LE, {1}), array("a/b", H5T_STD_I8LE, {1})};
  }
  CHECK_THAT(error_of([&] { store->create(folder / "a.h5", spec); }),
             Contains("a.h5: dataset name \"a\": \"a/b\" would lie below it"));
  CHECK_THAT(error_of([&] { store->create(folder / "no/a.h5", {}); }), Contains("create: No such file or directory"));
}

}  // namespace
