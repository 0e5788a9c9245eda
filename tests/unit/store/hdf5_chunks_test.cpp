#include <random>

#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::bytes_of;
using fixture::counted;
using fixture::data_of;
using fixture::error_of;
using fixture::Maker;
using fixture::put_bytes;
using fixture::TemporaryDirectory;
using Tune = std::function<void(hid_t)>;

const std::vector<hsize_t> shape{37, 53};
constexpr std::uint64_t elements = 37ULL * 53;

Tune in_chunks(
    std::vector<hsize_t> chunk, const Tune& filters = [](hid_t) {}) {
  return [=](hid_t creation) {
    hdf5::check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "chunk");
    filters(creation);
  };
}

void gzip(hid_t creation) {
  hdf5::check(H5Pset_deflate(creation, 4), "deflate");
}
void shuffle(hid_t creation) {
  hdf5::check(H5Pset_shuffle(creation), "shuffle");
}
void checksum(hid_t creation) {
  hdf5::check(H5Pset_fletcher32(creation), "fletcher32");
}
Tune all(std::vector<Tune> tunes) {
  return [=](hid_t creation) {
    for (const Tune& tune : tunes) tune(creation);
  };
}

/// What HDF5 itself reads of a dataset of i32, into zeros.
std::string as_hdf5_reads(const std::filesystem::path& path, const std::string& name, std::size_t count) {
  const hdf5::Lock lock;
  const auto file = hdf5::own<hdf5::FileId>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, hdf5::file_access().get()), "open");
  const auto id = hdf5::own<hdf5::DatasetId>(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), "open");
  std::vector<std::int32_t> values(count);
  hdf5::check(H5Dread(id.get(), H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read");
  return fixture::as_bytes(values);
}

/// The same through the store: at once, and in pieces that begin and end anywhere.
void check_read(const std::filesystem::path& path, const std::string& name, const std::string& expected) {
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(path);
  const auto source = store->open(path, catalog);
  CHECK(data_of(*source, catalog, name) == expected);
  const std::size_t index = catalog.schema->find(name);
  std::mt19937 dice(1);
  for (std::size_t from = 0; from < expected.size();) {
    const std::size_t size = std::min<std::size_t>(4 * (1 + dice() % 100), expected.size() - from);
    std::string piece(size, '?');
    source->read(index, from, std::as_writable_bytes(std::span(piece)));
    if (piece != expected.substr(from, size)) FAIL_CHECK(name << ": bytes from " << from << " differ");
    from += size;
  }
}

TEST_CASE("Chunks are read as HDF5 reads them, whatever they went through") {
  struct Case {
    const char* name;
    Tune tune;
  };
  const std::vector<hsize_t> small{8, 16};
  const auto before_the_rest = [](hid_t creation) { hdf5::check(H5Pset_scaleoffset(creation, H5Z_SO_INT, 0), "so"); };
  const auto whole_only = [](hid_t creation) {
    hdf5::check(H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS), "options");
  };
  const std::vector<Case> cases{{"none", in_chunks(small)},
                                {"gzip", in_chunks(small, gzip)},
                                {"shuffle", in_chunks(small, shuffle)},
                                {"checksum", in_chunks(small, checksum)},
                                {"shuffle, gzip", in_chunks(small, all({shuffle, gzip}))},
                                {"shuffle, gzip, checksum", in_chunks(small, all({shuffle, gzip, checksum}))},
                                {"gzip, checksum", in_chunks(small, all({gzip, checksum}))},
                                {"one chunk", in_chunks({37, 53}, all({shuffle, gzip}))},
                                {"rows", in_chunks({1, 53}, gzip)},
                                {"columns", in_chunks({37, 1}, gzip)},
                                {"elements", in_chunks({1, 1}, checksum)},
                                // What HDF5 has to decode.
                                {"gzip, shuffle", in_chunks(small, all({gzip, shuffle}))},
                                {"checksum, gzip", in_chunks(small, all({checksum, gzip}))},
                                {"gzip, gzip", in_chunks(small, all({gzip, gzip}))},
                                {"scale-offset, gzip", in_chunks(small, all({before_the_rest, gzip}))},
                                {"whole chunks only", in_chunks(small, all({gzip, whole_only}))}};
  std::vector<std::int32_t> values(elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 2654435761U >> (i % 29));
  const hsize_t user_block = GENERATE(0, 512);
  const bool latest = GENERATE(false, true);
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5", user_block, latest);
    for (const Case& each : cases)
      if (latest || std::string(each.name) != "whole chunks only")
        file.dataset(each.name, H5T_STD_I32LE, shape, values.data(), each.tune);
  }
  for (const Case& each : cases)
    if (latest || std::string(each.name) != "whole chunks only")
      check_read(folder / "a.h5", each.name, fixture::as_bytes(values));
}

TEST_CASE("What was never written is read as its fill value, as HDF5 reads it") {
  const auto fill = [](std::int32_t value) {
    return [=](hid_t creation) { hdf5::check(H5Pset_fill_value(creation, H5T_STD_I32LE, &value), "fill"); };
  };
  const auto no_fill = [](hid_t creation) { hdf5::check(H5Pset_fill_value(creation, H5T_STD_I32LE, nullptr), "fill"); };
  const auto never = [](hid_t creation) { hdf5::check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "time"); };
  const std::vector<hsize_t> small{8, 16};
  const std::vector<std::pair<const char*, Tune>> cases{
      {"contiguous", [](hid_t) {}},
      {"contiguous, filled", fill(7)},
      {"contiguous, undefined", no_fill},
      {"contiguous, never", all({fill(7), never})},
      {"chunks", in_chunks(small)},
      {"chunks, filled", in_chunks(small, fill(-3))},
      {"chunks, undefined", in_chunks(small, no_fill)},
      {"chunks, never", in_chunks(small, all({fill(7), never}))},
      {"gzip", in_chunks(small, gzip)},
      {"gzip, filled", in_chunks(small, all({gzip, fill(9)}))},
      {"gzip, undefined", in_chunks(small, all({gzip, no_fill}))},
      {"gzip, shuffle, filled", in_chunks(small, all({gzip, shuffle, fill(9)}))}};
  const hsize_t user_block = GENERATE(0, 512);
  const bool latest = GENERATE(false, true);
  const bool in_part = GENERATE(false, true);
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5", user_block, latest);
    for (const auto& [name, tune] : cases) {
      const auto dataset = file.dataset(name, H5T_STD_I32LE, shape, nullptr, tune);
      if (!in_part || std::string(name).rfind("contiguous", 0) == 0) continue;
      const std::vector<hsize_t> start{20, 30};
      const std::vector<hsize_t> size{3, 5};
      const auto space = hdf5::own<hdf5::SpaceId>(H5Dget_space(dataset.get()), "space");
      hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr),
                  "part");
      hdf5::check(H5Dwrite(dataset.get(), H5T_STD_I32LE, Maker::simple({15}).get(), space.get(), H5P_DEFAULT,
                           counted<std::int32_t>(15).data()),
                  "write");
    }
  }
  for (const auto& [name, tune] : cases) {
    // HDF5 itself fails where nothing was written and there is no fill value.
    const bool has_nothing = std::string(name).ends_with("undefined") && (!in_part || name[1] == 'o');
    const std::string expected =
        has_nothing ? std::string(4 * elements, '\0') : as_hdf5_reads(folder / "a.h5", name, elements);
    if (std::string(name) == "gzip, filled") CHECK(expected.substr(0, 4) == std::string("\11\0\0\0", 4));
    check_read(folder / "a.h5", name, expected);
  }
}

TEST_CASE("A dataset that has grown and shrunk is read as it is now") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    for (const bool filtered : {false, true}) {
      const std::vector<hsize_t> most{H5S_UNLIMITED, H5S_UNLIMITED};
      const std::vector<hsize_t> start{20, 20};
      const std::vector<hsize_t> chunk{8, 16};
      const auto space = hdf5::own<hdf5::SpaceId>(H5Screate_simple(2, start.data(), most.data()), "space");
      const auto creation = hdf5::own<hdf5::PropertyId>(H5Pcreate(H5P_DATASET_CREATE), "dcpl");
      const std::int32_t fill = 5;
      hdf5::check(H5Pset_fill_value(creation.get(), H5T_STD_I32LE, &fill), "fill");
      in_chunks(
          chunk, filtered ? Tune(gzip) : [](hid_t) {})(creation.get());
      const auto id = hdf5::own<hdf5::DatasetId>(H5Dcreate2(file.file(), filtered ? "gzip" : "plain", H5T_STD_I32LE,
                                                            space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                                 "dataset");
      hdf5::check(H5Dwrite(id.get(), H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, counted<std::int32_t>(400).data()),
                  "write");
      for (const auto& extent : {std::vector<hsize_t>{11, 13}, std::vector<hsize_t>{30, 40}})
        hdf5::check(H5Dset_extent(id.get(), extent.data()), "extent");
    }
  }
  for (const char* name : {"plain", "gzip"})
    check_read(folder / "a.h5", name, as_hdf5_reads(folder / "a.h5", name, 1200));
}

TEST_CASE("A chunk that a filter was skipped for is read as it is") {
  const TemporaryDirectory folder;
  const auto values = counted<std::int32_t>(64);
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const auto id = file.dataset("w", H5T_STD_I32LE, {64}, values.data(), in_chunks({16}, all({shuffle, gzip})));
    for (const hsize_t place : {0, 32})
      hdf5::check(H5Dwrite_chunk(id.get(), H5P_DEFAULT, 3, &place, 64, values.data() + place), "chunk");
  }
  check_read(folder / "a.h5", "w", fixture::as_bytes(values));
}

TEST_CASE("Each chunk is decoded once, however small the pieces that are asked for") {
  const auto chunk = GENERATE(std::vector<hsize_t>{64, 64}, std::vector<hsize_t>{512, 512},
                              std::vector<hsize_t>{1, 512}, std::vector<hsize_t>{512, 1});
  const TemporaryDirectory folder;
  const auto values = counted<std::int32_t>(512 * 512);
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    file.dataset("w", H5T_STD_I32LE, {512, 512}, values.data(), in_chunks(chunk, gzip));
  }
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  const auto source = store->open(folder / "a.h5", catalog);
  std::string row(2048, '\0');
  for (std::uint64_t i = 0; i < 512; ++i) source->read(0, i * 2048, std::as_writable_bytes(std::span(row)));
  CHECK(decoding_of(*store).bytes == 512 * 512 * 4);
  CHECK(decoding_of(*store).again == 0);
  const Dataset& dataset = catalog.schema->datasets[0];
  CHECK(dataset.chunk_bytes == chunk[0] * chunk[1] * 4);
  CHECK(dataset.decoding_bytes > dataset.chunk_bytes);
  CHECK(dataset.decoding_bytes <= 2 * dataset.chunk_bytes);
  const auto poor = hdf5_store();
  set_decoding_memory(*poor, dataset.decoding_bytes - 1);
  CHECK_THAT(
      error_of([&] { poor->open(folder / "a.h5", catalog)->read(0, 0, std::as_writable_bytes(std::span(row))); }),
      Contains("a.h5: /w: decoding a chunk takes"));
}

TEST_CASE("Large chunks without filters are read in place") {
  const TemporaryDirectory folder;
  const auto values = counted<std::int32_t>(1 << 19);
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    file.dataset("w", H5T_STD_I32LE, {512, 1024}, values.data(), in_chunks({512, 1024}));
  }
  check_read(folder / "a.h5", "w", fixture::as_bytes(values));
  CHECK(hdf5_store()->catalog(folder / "a.h5").schema->datasets[0].decoding_bytes == 0);
}

TEST_CASE("Compressed data that is damaged is an error that names file and dataset") {
  const TemporaryDirectory folder;
  const std::string said[] = {"shuffle, gzip", "checksum"};
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    file.dataset(said[0], H5T_STD_I32LE, {4096}, counted<std::int32_t>(4096).data(),
                 in_chunks({4096}, all({shuffle, gzip})));
    file.dataset(said[1], H5T_STD_I32LE, {4096}, std::vector<std::int32_t>(4096, 0x5a5a5a5a).data(),
                 in_chunks({4096}, checksum));
    // Streams that hold too little and too much.
    for (const std::size_t count : {4095, 4097}) {
      const auto id = file.dataset("holds " + std::to_string(count), H5T_STD_I32LE, {4096}, nullptr,
                                   in_chunks({4096}, all({shuffle, gzip})));
      const auto other = file.dataset("of " + std::to_string(count), H5T_STD_I32LE, {count},
                                      counted<std::int32_t>(count).data(), in_chunks({count}, all({shuffle, gzip})));
      hdf5::check(H5Dflush(other.get()), "flush");
      const hsize_t place = 0;
      hsize_t bytes = 0;
      hdf5::check(H5Dget_chunk_storage_size(other.get(), &place, &bytes), "size");
      std::vector<std::byte> encoded(bytes);
      std::uint32_t mask = 0;
      hdf5::check(H5Dread_chunk(other.get(), H5P_DEFAULT, &place, &mask, encoded.data()), "read");
      hdf5::check(H5Dwrite_chunk(id.get(), H5P_DEFAULT, 0, &place, bytes, encoded.data()), "write");
    }
  }
  const std::string whole = bytes_of(folder / "a.h5");
  const auto message = [&](const std::string& bytes, const std::string& name) {
    put_bytes(folder / "b.h5", bytes);
    const auto store = hdf5_store();
    const FileCatalog catalog = store->catalog(folder / "b.h5");
    const auto source = store->open(folder / "b.h5", catalog);
    return error_of([&] { data_of(*source, catalog, name); });
  };
  const auto flipped = [&](const std::string& found) {
    std::string bytes = whole;
    const std::size_t place = bytes.find(found);
    REQUIRE(place != std::string::npos);
    bytes[place + found.size() + 20] ^= 4;
    return bytes;
  };
  CHECK(message(whole, said[0]).empty());
  CHECK_THAT(message(flipped(std::string("\x78\x5e", 2)), said[0]), Contains("b.h5: /shuffle, gzip: a chunk"));
  CHECK_THAT(message(flipped(std::string(16, '\x5a')), said[1]), Contains("are not those of its checksum"));
  CHECK_THAT(message(whole, "holds 4095"), Contains("/holds 4095: a chunk of 16380 bytes, expected 16384"));
  CHECK_THAT(message(whole, "holds 4097"), Contains("a chunk of more than 16384 bytes"));
}

}  // namespace
