#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::bytes_of;
using fixture::counted;
using fixture::error_of;
using fixture::Maker;
using fixture::put_bytes;
using fixture::TemporaryDirectory;

std::string refusal(const std::filesystem::path& path) {
  const std::string message = fixture::refusal(*hdf5_store(), path);
  CHECK_THAT(message, Contains(path.string()));
  return message;
}

void make_plain(const std::filesystem::path& path) {
  const hdf5::Lock lock;
  Maker file(path);
  file.dataset("w", H5T_IEEE_F32LE, {1000}, counted<float>(1000).data());
}

TEST_CASE("What is no HDF5 file is told from what is a damaged one") {
  const TemporaryDirectory folder;
  put_bytes(folder / "empty.h5", "");
  put_bytes(folder / "text.h5", std::string(5000, 'x'));
  put_bytes(folder / "short.h5", "\211HDF");
  CHECK_THAT(refusal(folder / "empty.h5"), Contains("is empty"));
  CHECK_THAT(refusal(folder / "text.h5"), Contains("is no HDF5 file"));
  CHECK_THAT(refusal(folder / "short.h5"), Contains("is no HDF5 file"));
  CHECK_THAT(refusal(folder / "missing.h5"), Contains("no such file"));
  CHECK_THAT(refusal(folder / "."), Contains("is a directory"));
}

TEST_CASE("A file that crashes HDF5, or makes it take all memory, is refused, and the next one is read") {
  const TemporaryDirectory folder;
  make_plain(folder / "plain.h5");
  const auto store = hdf5_store();
  int hostile = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CKPT_SOURCE_DIR "/tests/fuzz/corpus/hdf5")) {
    if (entry.path().filename().string().rfind("hostile_", 0) != 0) continue;
    ++hostile;
    CHECK_FALSE(refusal(entry.path()).empty());
    CHECK(store->catalog(folder / "plain.h5").schema->arrays->size() == 1);
  }
  CHECK(hostile > 0);
}

TEST_CASE("A chunk too short for its checksum, or larger than the file, is refused before it is read") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    file.dataset("w", H5T_IEEE_F32LE, {100}, counted<float>(100).data(), [](hid_t creation) {
      const hsize_t chunk = 100;
      hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
      hdf5::check(H5Pset_fletcher32(creation), "fletcher32");
    });
  }
  const std::string whole = bytes_of(folder / "a.h5");
  const std::size_t tree = whole.find(std::string("TREE\1", 5));  // the index of chunks
  REQUIRE(tree != std::string::npos);
  const std::size_t key = tree + 24;
  REQUIRE(whole.substr(key, 4) == std::string("\224\1\0\0", 4));  // 400 bytes and the checksum
  for (const auto& size : {std::string("\2\0\0\0", 4), std::string(4, '\0'), std::string("\0\0\0\100", 4)}) {
    put_bytes(folder / "b.h5", std::string(whole).replace(key, 4, size));
    CHECK_THAT(refusal(folder / "b.h5"), Contains("/w: "));
  }
}

TEST_CASE("A truncated file says how long it should be") {
  const TemporaryDirectory folder;
  make_plain(folder / "a.h5");
  const std::string whole = bytes_of(folder / "a.h5");
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2}) {
    put_bytes(folder / "b.h5", whole.substr(0, size));
    CHECK_THAT(refusal(folder / "b.h5"), Contains("ends at byte " + std::to_string(size) + ", expected " +
                                                  std::to_string(whole.size()) + "; was it truncated?"));
  }
  for (std::size_t size = 8; size < 400; ++size) {
    put_bytes(folder / "b.h5", whole.substr(0, size));
    CHECK_FALSE(refusal(folder / "b.h5").empty());
  }
}

TEST_CASE("Data that a file cannot hold is refused: an offset beyond its end, a size above its room") {
  const TemporaryDirectory folder;
  make_plain(folder / "a.h5");
  const std::string whole = bytes_of(folder / "a.h5");
  const FileCatalog catalog = hdf5_store()->catalog(folder / "a.h5");
  const auto numbers = [](std::initializer_list<std::uint64_t> values) {
    return fixture::as_bytes(std::vector<std::uint64_t>(values));
  };
  const auto altered = [&](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    const std::size_t place = bytes.find(from);
    REQUIRE(place != std::string::npos);
    bytes.replace(place, to.size(), to);
    put_bytes(folder / "b.h5", bytes);
    return refusal(folder / "b.h5");
  };
  const std::uint64_t offset = catalog.schema->datasets[0].extents.offset();
  const std::string beyond = altered(numbers({offset, 4000}), numbers({offset + 4096, 4000}));
  CHECK_THAT(beyond,
             Contains("/w: its data ends at byte") || Contains("/w: opening it: HDF5: "));  // HDF5 1.14 looks too
  CHECK_THAT(altered(numbers({1000, 1000}), numbers({5000, 5000})), Contains("/w: "));
  CHECK_FALSE(altered(numbers({1000, 1000}), numbers({std::uint64_t{1} << 62, std::uint64_t{1} << 62})).empty());
  CHECK_FALSE(altered(numbers({offset, 4000}), numbers({offset, ~std::uint64_t{0}})).empty());
}

TEST_CASE("Chunked data that declares far more than it stores is refused") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const auto dataset = file.dataset("w", H5T_IEEE_F32LE, {std::uint64_t{1} << 50}, nullptr, [](hid_t creation) {
      const hsize_t chunk = 1024;
      hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
    });
    const hsize_t one = 1;
    const auto space = hdf5::own<hdf5::SpaceId>(H5Dget_space(dataset.get()), "space");
    const hsize_t first = 0;
    hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &one, nullptr), "select");
    const float value = 1;
    hdf5::check(H5Dwrite(dataset.get(), H5T_IEEE_F32LE, Maker::simple({1}).get(), space.get(), H5P_DEFAULT, &value),
                "write");
  }
  CHECK_THAT(refusal(folder / "a.h5"),
             Contains("/w: declares 4503599627370496 bytes, expected what the 4096 stored bytes can hold"));
}

TEST_CASE(
    "Data that was never written is refused where it is far more than any file of its size, or has no fixed size") {
  const bool chunked = GENERATE(false, true);
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "large.h5");
    file.dataset("g/w", H5T_IEEE_F32LE, {std::uint64_t{1} << 29}, nullptr, [&](hid_t creation) {
      const hsize_t chunk = 2;
      if (chunked) hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
    });
    Maker text(folder / "text.h5");
    const auto type = fixture::text_type();
    text.dataset("g/w", type.get(), {4}, nullptr, [&](hid_t creation) {
      const char* fill = "x";
      const hsize_t chunk = 2;
      if (chunked) hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
      hdf5::check(H5Pset_fill_value(creation, type.get(), &fill), "fill");
    });
  }
  CHECK_THAT(refusal(folder / "large.h5"),
             Contains("/g/w: declares 2147483648 bytes, expected what the 0 stored bytes can hold"));
  CHECK_THAT(refusal(folder / "text.h5"), Contains("/g/w: was never written and has a fill value of variable length"));
}

TEST_CASE("Data outside the file, references and missing filters are refused") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker raw(folder / "raw.h5");
    raw.dataset("w", H5T_STD_I8LE, {4}, nullptr,
                [](hid_t creation) { hdf5::check(H5Pset_external(creation, "/etc/hostname", 0, 4), "external"); });
    Maker virtual_file(folder / "virtual.h5");
    virtual_file.dataset("w", H5T_STD_I8LE, {4}, nullptr, [](hid_t creation) {
      const auto space = Maker::simple({4});
      hdf5::check(H5Pset_virtual(creation, space.get(), "raw.h5", "w", space.get()), "virtual");
    });
    Maker references(folder / "reference.h5");
    hobj_ref_t reference{};
    hdf5::check(H5Rcreate(&reference, references.file(), "/", H5R_OBJECT, -1), "reference");
    references.dataset("w", H5T_STD_REF_OBJ, {1}, &reference);
    Maker filter(folder / "filter.h5");
    filter.dataset("w", H5T_STD_I8LE, {4}, "abcd", [](hid_t creation) {
      const hsize_t chunk = 4;
      hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
      hdf5::check(H5Pset_filter(creation, 299, H5Z_FLAG_OPTIONAL, 0, nullptr), "filter");
    });
  }
  CHECK_THAT(refusal(folder / "raw.h5"), Contains("/w: has its data in external files"));
  CHECK_THAT(refusal(folder / "virtual.h5"), Contains("it shows data of") && Contains("/w: has its data in external"));
  CHECK_THAT(refusal(folder / "reference.h5"), Contains("/w: holds references"));
  CHECK_THAT(refusal(folder / "filter.h5"), Contains("/w: is stored through filter 299"));
}

TEST_CASE("A global shape that is none is refused") {
  const TemporaryDirectory folder;
  const auto with_shape = [&](hid_t type, const std::vector<hsize_t>& shape, const void* value) {
    {
      const hdf5::Lock lock;
      Maker file(folder / "a.h5");
      const auto dataset = file.dataset("w", H5T_STD_I8LE, {4}, "abcd");
      file.attribute(dataset.get(), "ckpt_global_shape", type, shape, value);
    }
    return fixture::refusal(*hdf5_store(), folder / "a.h5");
  };
  const std::int64_t extents[] = {4, -1};
  const std::vector<std::int64_t> many(33, 1);
  CHECK(with_shape(H5T_STD_I64LE, {1}, extents).empty());
  CHECK_THAT(with_shape(H5T_STD_I64LE, {2}, extents), Contains("/w: attribute ckpt_global_shape: no list of extents"));
  CHECK_THAT(with_shape(H5T_STD_U64LE, {2}, extents), Contains("integers of 0 to 2^62"));
  CHECK_THAT(with_shape(H5T_STD_I64LE, {}, extents), Contains("no list of extents"));
  CHECK_THAT(with_shape(H5T_IEEE_F64LE, {1}, extents), Contains("no list of extents"));
  CHECK_THAT(with_shape(H5T_STD_I64LE, {33}, many.data()), Contains("33 dimensions"));
}

TEST_CASE("A file that shrinks or changes after it was catalogued is noticed") {
  const TemporaryDirectory folder;
  make_plain(folder / "a.h5");
  {
    const hdf5::Lock lock;
    Maker file(folder / "gzip.h5");
    file.dataset("w", H5T_IEEE_F32LE, {1000}, counted<float>(1000).data(), [](hid_t creation) {
      const hsize_t chunk = 100;
      hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
    });
  }
  const auto store = hdf5_store();
  for (const char* name : {"a.h5", "gzip.h5"}) {
    const auto path = folder / name;
    const FileCatalog catalog = store->catalog(path);
    const auto source = store->open(path, catalog);
    std::vector<float> found(1000);
    source->read(0, 0, std::as_writable_bytes(std::span(found).first(10)));
    std::filesystem::resize_file(path, catalog.bytes - 100);
    CHECK_THAT(error_of([&] { source->read(0, 0, std::as_writable_bytes(std::span(found))); }),
               Contains(path.string()));
    CHECK_THAT(error_of([&] { store->open(path, catalog); }), Contains("when it was catalogued"));
  }
}

}  // namespace
