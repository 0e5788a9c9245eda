#include <thread>

#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using fixture::array;
using fixture::bytes_of;
using fixture::Maker;
using fixture::put_bytes;
using fixture::TemporaryDirectory;

/// Data of sizes below and above what one read takes in.
FileRoom make(Store& store, const std::filesystem::path& path, char fill, const std::string& layout = "{}") {
  FileSpec spec;
  {
    const hdf5::Lock lock;
    spec.arrays = {array("a", H5T_STD_I8LE, {10}), array("b", H5T_STD_I8LE, {300'000}),
                   array("c", H5T_STD_I8LE, {5000}), array("none", H5T_STD_I8LE, {0})};
  }
  spec.layout = layout;
  const FileRoom room = store.create(path, spec);
  const PosixFile file = PosixFile::open_for_writing(path);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string data(numel(spec.arrays[i].shape), fill);
    file.write(room.data[i].offset(), std::as_bytes(std::span(data)));
  }
  return room;
}

TEST_CASE("Files that differ in data alone share one schema") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  make(*store, folder / "a.h5", 'a');
  make(*store, folder / "b.h5", 'b');
  make(*store, folder / "c.h5", 'c', "[]");
  const FileCatalog a = store->catalog(folder / "a.h5");
  const FileCatalog b = store->catalog(folder / "b.h5");
  const FileCatalog c = store->catalog(folder / "c.h5");
  CHECK(a.schema == b.schema);
  CHECK(a.schema != c.schema);
  CHECK(c.schema->layout == "[]");
  CHECK(fixture::data_of(*store->open(folder / "b.h5", b), b, "c") == std::string(5000, 'b'));
}

TEST_CASE("A file that differs anywhere outside the data, or in size, is read by itself") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  const FileRoom room = make(*store, folder / "a.h5", 'a');
  const FileCatalog a = store->catalog(folder / "a.h5");
  const std::string whole = bytes_of(folder / "a.h5");
  const auto shares = [&](const std::string& bytes) {
    put_bytes(folder / "b.h5", bytes);
    try {
      return store->catalog(folder / "b.h5").schema == a.schema;
    } catch (const Error&) {
      return false;  // damaged
    }
  };
  CHECK(shares(whole));
  CHECK_FALSE(shares(whole + '\0'));
  const std::uint64_t end = room.data[2].offset() + 5000;
  std::vector<std::uint64_t> metadata = {9, room.data[0].offset() - 1, end, (end + room.bytes) / 2, room.bytes - 1};
  for (const std::uint64_t gap : {room.data[0].offset() + 10, room.data[1].offset() + 300'000}) {
    metadata.push_back(gap);
    metadata.push_back(gap / 4096 * 4096 + 4095);
  }
  for (const std::uint64_t place : metadata) {
    CAPTURE(place);
    std::string bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] ^ 1);
    CHECK_FALSE(shares(bytes));
  }
  for (const std::uint64_t place :
       {room.data[0].offset(), room.data[0].offset() + 9, room.data[1].offset() + 299'999, end - 1}) {
    std::string bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] ^ 1);
    CHECK(shares(bytes));
  }
}

TEST_CASE("A file that has been changed, or is gone, tells nothing of others") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  make(*store, folder / "a.h5", 'a', "{}");
  make(*store, folder / "b.h5", 'b', "{}");
  make(*store, folder / "c.h5", 'c', "[]");
  const FileCatalog a = store->catalog(folder / "a.h5");
  put_bytes(folder / "a.h5", bytes_of(folder / "c.h5"));  // as large
  std::filesystem::last_write_time(folder / "a.h5",
                                   std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
  const FileCatalog c = store->catalog(folder / "c.h5");
  CHECK(c.schema->layout == "[]");
  std::filesystem::remove(folder / "c.h5");
  const FileCatalog b = store->catalog(folder / "b.h5");
  CHECK(b.schema->layout == "{}");
  CHECK(b.schema != a.schema);
  CHECK(store->catalog(folder / "b.h5").schema == b.schema);
}

TEST_CASE("Files of very many datasets share one schema, too") {
  const TemporaryDirectory folder;
  FileSpec spec;
  {
    const hdf5::Lock lock;
    const Attribute long_one{"a", {fixture::dtype(fixture::text_type(3500).get()), Shape{}, std::string(3500, 'x')}};
    for (int i = 0; i < 5000; ++i) {  // together 17 MB of metadata
      spec.arrays.push_back(array(std::to_string(i), H5T_STD_I8LE, {1}));
      spec.arrays.back().attributes = {long_one};
    }
  }
  const auto store = hdf5_store();
  for (const char* name : {"a.h5", "b.h5"}) store->create(folder / name, spec);
  CHECK(store->catalog(folder / "a.h5").schema == store->catalog(folder / "b.h5").schema);
}

TEST_CASE("Compressed files are never taken for one another") {
  const TemporaryDirectory folder;
  for (const char* name : {"a.h5", "b.h5"}) {
    const hdf5::Lock lock;
    Maker file(folder / name);
    file.dataset("w", H5T_STD_I8LE, {4}, "abcd", [](hid_t creation) {
      const hsize_t chunk = 4;
      hdf5::check(H5Pset_chunk(creation, 1, &chunk), "chunk");
    });
  }
  const auto store = hdf5_store();
  CHECK(store->catalog(folder / "a.h5").schema != store->catalog(folder / "b.h5").schema);
}

TEST_CASE("Threads may catalog, create and read at once") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  std::vector<std::shared_ptr<const Schema>> schemas(8);
  std::vector<std::string> data(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < schemas.size(); ++i)
    threads.emplace_back([&, i] {
      const auto path = folder / (std::to_string(i) + ".h5");
      make(*store, path, static_cast<char>('a' + i));
      const FileCatalog catalog = store->catalog(path);
      schemas[i] = catalog.schema;
      data[i] = fixture::data_of(*store->open(path, catalog), catalog, "b");
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    CHECK(schemas[i] == schemas[0]);
    CHECK((data[i] == std::string(300'000, static_cast<char>('a' + i))));
  }
}

}  // namespace
