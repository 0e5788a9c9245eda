#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::array;
using fixture::as_bytes;
using fixture::counted;
using fixture::data_of;
using fixture::error_of;
using fixture::Maker;
using fixture::TemporaryDirectory;

constexpr std::uint64_t rows = 6;

/// Two shards of columns of w, [6, 8], and a store.
struct Shards {
  Shards() {
    std::filesystem::create_directory(folder / "job");
    for (int card = 0; card < 2; ++card) {
      std::vector<float> values;
      for (std::uint64_t i = 0; i < rows * 4; ++i) values.push_back(static_cast<float>(i / 4 * 8 + i % 4 + card * 4U));
      Maker file(shard(card));
      file.dataset("w", H5T_IEEE_F32LE, {rows, 4}, values.data());
    }
  }

  std::filesystem::path shard(int card) const { return folder / ("job/100%_" + std::to_string(card) + ".h5"); }

  /// A specification of a file in the folder that shows them side by side, before two columns of padding.
  FileSpec spec() const {
    FileSpec spec;
    spec.arrays.push_back(array("w", H5T_IEEE_F32LE, {rows, 10}));
    for (std::uint32_t card = 0; card < 2; ++card) {
      spec.viewed.push_back({"job/" + shard(static_cast<int>(card)).filename().string(),
                             std::filesystem::file_size(shard(static_cast<int>(card)))});
      spec.arrays[0].views.push_back(
          {card, "w", whole_hyperslab({rows, 4}), {{rows, 10}, {{0, 1, 1, rows}, {card * 4U, 1, 1, 4}}}});
    }
    return spec;
  }

  static std::string shown() {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < 10; ++j) values.push_back(j < 8 ? static_cast<float>(i * 8 + j) : 0);
    return as_bytes(values);
  }

  std::string read(const std::filesystem::path& path) {
    const FileCatalog catalog = store->catalog(path);
    return data_of(*store->open(path, catalog), catalog, "w");
  }

  /// A file by HDF5's own means that shows `selection` of the first shard.
  std::filesystem::path foreign(
      const std::function<void(hid_t ours, hid_t theirs)>& select,
      const std::function<void(hid_t creation)>& tune = [](hid_t) {}) {
    const auto path = folder / "foreign.h5";
    const hdf5::Lock lock;
    Maker file(path, 0, true);
    const auto ours = Maker::simple({rows, 4});
    const auto theirs = Maker::simple({rows, 4});
    select(ours.get(), theirs.get());
    file.dataset("w", H5T_IEEE_F32LE, {rows, 4}, nullptr, [&](hid_t creation) {
      hdf5::check(H5Pset_virtual(creation, ours.get(), "job/100%%_0.h5", "w", theirs.get()), "mapping");
      tune(creation);
    });
    return path;
  }

  TemporaryDirectory folder;
  std::unique_ptr<Store> store = hdf5_store();
};

TEST_CASE("A file that shows others reads as they do, by this store and by HDF5") {
  Shards shards;
  const auto path = shards.folder / "seen.h5";
  const FileRoom room = shards.store->create(path, shards.spec());
  CHECK(room.data.at(0).bytes() == 0);
  CHECK(std::filesystem::file_size(path) == room.bytes);

  const FileCatalog catalog = shards.store->catalog(path);
  CHECK(catalog.schema->datasets.at(0).storage == Storage::views);
  CHECK(catalog.schema->datasets[0].views == shards.spec().arrays[0].views);
  CHECK(catalog.schema->viewed == shards.spec().viewed);
  REQUIRE(catalog.viewed.size() == 2);
  CHECK(catalog.viewed[1].bytes == std::filesystem::file_size(shards.shard(1)));
  CHECK(data_of(*shards.store->open(path, catalog), catalog, "w") == Shards::shown());
  const FileCatalog sent = decode_catalog(encode(catalog));
  CHECK(sent.viewed[1].modified_ns == catalog.viewed[1].modified_ns);
  CHECK(data_of(*shards.store->open(path, sent), sent, "w") == Shards::shown());

  const hdf5::Lock lock;
  const auto access = hdf5::file_access();
  const auto file = hdf5::own<hdf5::FileId>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "open");
  const auto data = hdf5::own<hdf5::DatasetId>(H5Dopen2(file.get(), "w", H5P_DEFAULT), "open");
  std::vector<float> values(rows * 10, -1.0F);
  hdf5::check(H5Dread(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read");
  CHECK(as_bytes(values) == Shards::shown());
}

TEST_CASE("A scalar and elements that lie flat can be shown") {
  Shards shards;
  {
    const hdf5::Lock lock;
    Maker file(shards.folder / "flat.h5");
    const auto values = counted<float>(12);
    file.dataset("f", H5T_IEEE_F32LE, {12}, values.data());
    file.dataset("s", H5T_IEEE_F32LE, {}, values.data() + 7);
  }
  FileSpec spec;
  spec.viewed = {{"flat.h5", std::nullopt}};
  spec.arrays = {array("columns", H5T_IEEE_F32LE, {3, 2}), array("one", H5T_IEEE_F32LE, {}),
                 array("scalar", H5T_IEEE_F32LE, {})};
  spec.arrays[0].views = {{0, "f", {{12}, {{1, 4, 3, 2}}}, whole_hyperslab({3, 2})}};
  spec.arrays[1].views = {{0, "f", {{12}, {{5, 1, 1, 1}}}, {}}};
  spec.arrays[2].views = {{0, "s", {}, {}}};
  const auto path = shards.folder / "seen.h5";
  shards.store->create(path, spec);
  const FileCatalog catalog = shards.store->catalog(path);
  const auto source = shards.store->open(path, catalog);
  CHECK(data_of(*source, catalog, "columns") == as_bytes(std::vector<float>{1, 2, 5, 6, 9, 10}));
  CHECK(data_of(*source, catalog, "one") == as_bytes(std::vector<float>{5}));
  CHECK(data_of(*source, catalog, "scalar") == as_bytes(std::vector<float>{7}));
}

TEST_CASE("Mappings that others have written are read where they are regular and of a fixed size") {
  Shards shards;
  const auto first = [&] { return shards.read(shards.folder / "job" / "100%_0.h5"); };
  const hsize_t top[] = {0, 0};
  const hsize_t half[] = {rows / 2, 4};
  const hsize_t bottom[] = {rows / 2, 0};
  SECTION("all of it") {
    CHECK(shards.read(shards.foreign([](hid_t, hid_t) {})) == first());
  }
  SECTION("a part, and zeros beside it") {
    const auto path = shards.foreign([&](hid_t ours, hid_t theirs) {
      H5Sselect_hyperslab(ours, H5S_SELECT_SET, bottom, nullptr, half, nullptr);
      H5Sselect_hyperslab(theirs, H5S_SELECT_SET, top, nullptr, half, nullptr);
    });
    const std::string found = shards.read(path);
    CHECK(found.substr(found.size() / 2) == first().substr(0, found.size() / 2));
    CHECK(found.substr(0, found.size() / 2) == std::string(found.size() / 2, '\0'));
  }
  SECTION("a part, and a fill value beside it") {
    const auto path = shards.foreign(
        [&](hid_t ours, hid_t theirs) {
          H5Sselect_hyperslab(ours, H5S_SELECT_SET, bottom, nullptr, half, nullptr);
          H5Sselect_hyperslab(theirs, H5S_SELECT_SET, top, nullptr, half, nullptr);
        },
        [](hid_t creation) {
          const float one = 1;
          H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &one);
        });
    CHECK_THAT(fixture::refusal(*shards.store, path), Contains("fill value of its own"));
  }
  SECTION("next to nothing of very much") {
    const auto path = shards.folder / "foreign.h5";
    {
      const hdf5::Lock lock;
      Maker file(path, 0, true);
      const auto ours = Maker::simple({1ULL << 40});
      const auto theirs = Maker::simple({rows, 4});
      const hsize_t none[] = {0};
      const hsize_t few[] = {rows * 4};
      H5Sselect_hyperslab(ours.get(), H5S_SELECT_SET, none, nullptr, few, nullptr);
      file.dataset("w", H5T_IEEE_F32LE, {1ULL << 40}, nullptr, [&](hid_t creation) {
        hdf5::check(H5Pset_virtual(creation, ours.get(), "job/100%%_0.h5", "w", theirs.get()), "mapping");
      });
    }
    CHECK_THAT(fixture::refusal(*shards.store, path), Contains("shows no data for 4398046511008 of its bytes"));
  }
  SECTION("a corner that is left out is no hyperslab") {
    const hsize_t origin[] = {1, 1};
    const auto path = shards.foreign([&](hid_t ours, hid_t theirs) {
      for (const hid_t space : {ours, theirs})
        H5Sselect_hyperslab(space, H5S_SELECT_NOTB, top, nullptr, origin, nullptr);
    });
    CHECK_THAT(fixture::refusal(*shards.store, path), Contains("other elements than a regular hyperslab's"));
  }
}

TEST_CASE("A file that is shown must lie in the same tree, links followed, or where it is allowed") {
  Shards shards;
  std::filesystem::create_directory(shards.folder / "apart");
  FileSpec spec = shards.spec();
  for (ViewedFile& file : spec.viewed) file.path = "../" + file.path;
  const auto path = shards.folder / "apart" / "seen.h5";
  SECTION("outside") {
    shards.store->create(path, spec);
    CHECK_THAT(fixture::refusal(*shards.store, path),
               Contains("seen.h5: /w: it shows data of") && Contains("a file in the same tree of directories"));
    let_show(*shards.store, shards.folder / "apart");
    CHECK_THAT(fixture::refusal(*shards.store, path), Contains("the same tree"));
    let_show(*shards.store, shards.folder / "job");
    CHECK(shards.read(path) == Shards::shown());
  }
  SECTION("inside by name, outside by a link") {
    std::filesystem::create_symlink(shards.folder / "job", shards.folder / "apart" / "job");
    shards.store->create(path, shards.spec());
    CHECK_THAT(fixture::refusal(*shards.store, path), Contains("the same tree"));
    let_show(*shards.store, shards.folder / ".");
    CHECK(shards.read(path) == Shards::shown());
  }
}

TEST_CASE("A file that is shown and is no longer what it was is an error, and never a fill value") {
  Shards shards;
  const auto path = shards.folder / "seen.h5";
  FileSpec spec = shards.spec();
  const auto catalog_error = [&] { return fixture::refusal(*shards.store, path); };
  const auto make_again = [&](hid_t type, const std::vector<hsize_t>& shape, const char* name = "w") {
    spec.viewed[1].bytes.reset();  // as of a file that another program wrote
    shards.store->create(path, spec);
    const std::vector<double> values(64);
    const hdf5::Lock lock;
    Maker(shards.shard(1)).dataset(name, type, shape, values.data());
  };
  shards.store->create(path, spec);
  SECTION("gone") {
    std::filesystem::remove(shards.shard(1));
    CHECK_THAT(catalog_error(), Contains("100%_1.h5, which is not there"));
  }
  SECTION("of another size") {
    { std::ofstream(shards.shard(1), std::ios::app) << "more"; }
    CHECK_THAT(catalog_error(), Contains("as when the view was made"));
  }
  SECTION("of another dtype") {
    make_again(H5T_IEEE_F64LE, {rows, 4});
    CHECK_THAT(catalog_error(), Contains("of dtype f64") && Contains("its own dtype, f32"));
  }
  SECTION("of another shape") {
    make_again(H5T_IEEE_F32LE, {rows, 3});
    CHECK_THAT(catalog_error(), Contains("of shape [6, 3]") && Contains("at least [6, 4]"));
  }
  SECTION("without the dataset") {
    make_again(H5T_IEEE_F32LE, {rows, 4}, "v");
    CHECK_THAT(catalog_error(), Contains("100%_1.h5: /w, which is not there"));
  }
  SECTION("no HDF5 file") {
    spec.viewed[1].bytes.reset();
    shards.store->create(path, spec);
    fixture::put_bytes(shards.shard(1), "something else");
    CHECK_THAT(catalog_error(), Contains("is no HDF5 file"));
  }
  SECTION("changed since it was catalogued") {
    const FileCatalog catalog = shards.store->catalog(path);
    std::filesystem::last_write_time(shards.shard(1),
                                     std::filesystem::last_write_time(shards.shard(1)) + std::chrono::hours(1));
    const auto source = shards.store->open(path, catalog);
    CHECK_THAT(error_of([&] { data_of(*source, catalog, "w"); }), Contains("changed since it was catalogued"));
  }
  SECTION("a view itself") {
    spec.viewed = {{"seen.h5", std::nullopt}};
    spec.arrays[0].views = {{0, "w", whole_hyperslab({rows, 10}), whole_hyperslab({rows, 10})}};
    shards.store->create(shards.folder / "again.h5", spec);
    CHECK_THAT(fixture::refusal(*shards.store, shards.folder / "again.h5"), Contains("which is a view itself"));
  }
  SECTION("itself") {
    spec.viewed = {{".", std::nullopt}};
    spec.arrays[0].views = {{0, "w", whole_hyperslab({rows, 10}), whole_hyperslab({rows, 10})}};
    shards.store->create(path, spec);
    CHECK_THAT(catalog_error(), Contains("which is a view itself"));
  }
}

TEST_CASE("What compressed data takes to decode is known of the file that shows it") {
  Shards shards;
  const std::vector<float> values(std::size_t{64} * 64, 3.0F);
  {
    const hdf5::Lock lock;
    Maker(shards.folder / "small.h5").dataset("w", H5T_IEEE_F32LE, {64, 64}, values.data(), [](hid_t creation) {
      const hsize_t chunk[] = {16, 64};
      H5Pset_chunk(creation, 2, chunk);
      H5Pset_deflate(creation, 4);
    });
  }
  FileSpec spec;
  spec.viewed = {{"small.h5", std::nullopt}};
  spec.arrays = {array("w", H5T_IEEE_F32LE, {64, 64})};
  spec.arrays[0].views = {{0, "w", whole_hyperslab({64, 64}), whole_hyperslab({64, 64})}};
  shards.store->create(shards.folder / "seen.h5", spec);
  const FileCatalog catalog = shards.store->catalog(shards.folder / "seen.h5");
  CHECK(catalog.schema->datasets.at(0).chunk_bytes == 16 * 64 * 4);
  CHECK(catalog.schema->datasets.at(0).decoding_bytes >= 16 * 64 * 4);
  CHECK(shards.read(shards.folder / "seen.h5") == as_bytes(values));
}

}  // namespace
