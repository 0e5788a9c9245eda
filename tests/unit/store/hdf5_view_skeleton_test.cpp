#include "catch.hpp"
#include "store/hdf5/mapping_block.hpp"
#include "store/hdf5/skeleton.hpp"
#include "store/hdf5/view_skeleton.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using fixture::array;
using fixture::counted;
using fixture::Maker;
using fixture::TemporaryDirectory;
using hdf5::ViewSkeleton;

constexpr std::uint64_t rows = 4;
constexpr std::uint64_t columns = 6;

FileSpec::Array shown(const std::string& name, std::vector<View> views) {
  auto made = array(name, H5T_STD_I32LE, {rows, columns});
  made.views = std::move(views);
  return made;
}

/// Rows [from, to) of both arrays are those of a file's dataset.
View rows_of(std::uint32_t file, const std::string& dataset, std::uint64_t from, std::uint64_t to) {
  const Hyperslab slab{{rows, columns}, {{from, 1, 1, to - from}, {0, 1, 1, columns}}};
  return {file, dataset, slab, slab};
}

/// Columns 0, 2 and 4 are those of a file's dataset, and 1, 3 and 5 another's.
std::vector<View> combed() {
  std::vector<View> views;
  for (std::uint32_t file = 0; file < 2; ++file) {
    const Hyperslab slab{{rows, columns}, {{0, 1, 1, rows}, {file, 2, 3, 1}}};
    views.push_back({file, "w", slab, slab});
  }
  return views;
}

/// Two files of which any may be shown, elements i and i + 100.
struct Sources {
  Sources() {
    for (const auto& [name, first] : {std::pair("a.h5", 0), std::pair("with%signs.h5", 100)}) {
      Maker file(folder / name);
      auto values = counted<int>(rows * columns);
      for (int& value : values) value += first;
      file.dataset("w", H5T_STD_I32LE, {rows, columns}, values.data());
    }
  }

  static FileSpec spec(std::vector<View> views) {
    FileSpec spec;
    spec.viewed = {{"a.h5", 10}, {"with%signs.h5", 1000}};
    spec.arrays = {shown("x", {rows_of(0, "w", 0, rows)}), shown("y", std::move(views))};
    return spec;
  }

  /// What HDF5 itself reads of a file that is made so.
  std::vector<int> read_by_hdf5(const NewFile& made, const std::string& dataset) const {
    const auto path = folder / "seen.h5";
    std::string bytes(made.room.bytes, '\0');
    for (const FileSegment& segment : made.segments) bytes.replace(segment.offset, segment.bytes.size(), segment.bytes);
    fixture::put_bytes(path, bytes);
    const hdf5::Lock lock;
    const auto access = hdf5::file_access();
    const auto file = hdf5::own<hdf5::FileId>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "open");
    const auto data = hdf5::own<hdf5::DatasetId>(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), "open");
    std::vector<int> values(rows * columns, -1);
    hdf5::check(H5Dread(data.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read");
    return values;
  }

  TemporaryDirectory folder;
};

std::vector<int> expected(const std::function<bool(std::uint64_t row, std::uint64_t column)>& is_second) {
  auto values = counted<int>(rows * columns);
  for (std::uint64_t i = 0; i < values.size(); ++i)
    if (is_second(i / columns, i % columns)) values[i] += 100;
  return values;
}

PartialSum sum_of_segments(const NewFile& made) {
  PartialSum sum;
  for (const FileSegment& segment : made.segments)
    sum += sum_of(std::as_bytes(std::span(segment.bytes)), segment.offset);
  return sum;
}

TEST_CASE("Mappings are encoded as HDF5 does it") {
  const FileSpec spec = Sources::spec({rows_of(1, "w", 0, 1), rows_of(0, "group/w", 1, rows)});
  const NewFile file = hdf5::make_file(spec, 0).file;
  for (const auto& array : spec.arrays)
    CHECK(file.segments.back().bytes.find(hdf5::mapping_block(array.views, spec.viewed)) != std::string::npos);
}

TEST_CASE("One skeleton makes files that show other elements, as HDF5 reads them") {
  const Sources sources;
  const auto top = [](std::uint64_t row, std::uint64_t) { return row == 0; };
  const FileSpec first = Sources::spec({rows_of(1, "w", 0, 1), rows_of(0, "w", 1, rows)});
  const ViewSkeleton skeleton(first);
  const auto made = skeleton.filled(first);
  REQUIRE(made);
  CHECK(sources.read_by_hdf5(*made, "y") == expected(top));
  CHECK(made->room.metadata == sum_of_segments(*made));

  FileSpec second = Sources::spec({rows_of(1, "w", 0, rows)});
  second.viewed[0].bytes = 7;
  const auto other = skeleton.filled(second);
  REQUIRE(other);
  CHECK(other->room.bytes == made->room.bytes);
  CHECK(sources.read_by_hdf5(*other, "y") == expected([](auto, auto) { return true; }));
  CHECK(sources.read_by_hdf5(*other, "x") == expected([](auto, auto) { return false; }));
  CHECK(other->room.metadata == sum_of_segments(*other));

  const FileSpec third = Sources::spec(combed());
  const auto comb = ViewSkeleton(third).filled(third);
  REQUIRE(comb);
  CHECK(sources.read_by_hdf5(*comb, "y") == expected([](auto, std::uint64_t column) { return column % 2 == 1; }));
}

TEST_CASE("A skeleton does not make what has no room in it, or differs in more than what it shows") {
  const FileSpec spec = Sources::spec({rows_of(1, "w", 0, rows)});
  const ViewSkeleton skeleton(spec);
  CHECK(skeleton.filled(spec));
  FileSpec other = spec;
  SECTION("very many mappings") {
    other.arrays[1].views.assign(1000, rows_of(1, "w", 0, rows));
  }
  SECTION("very many files") {
    for (int i = 0; i < 1000; ++i) other.viewed.push_back({"file" + std::to_string(i), 0});
  }
  SECTION("another name") {
    other.arrays[0].name = "z";
  }
  SECTION("nothing is shown") {
    other.arrays[0].views.clear();
  }
  SECTION("another attribute of the file") {
    other.layout = "{}";
  }
  CHECK(!skeleton.filled(other));
}

TEST_CASE("Elements beyond the 2^32nd can be shown") {
  constexpr std::uint64_t far = std::uint64_t{1} << 33;
  const TemporaryDirectory folder;
  FileSpec spec;
  spec.viewed = {{"a.h5", std::nullopt}};
  spec.arrays = {array("w", H5T_STD_U8LE, {far})};
  spec.arrays[0].views = {{0, "w", {{far}, {{far / 2, 1, 1, far / 2}}}, {{far}, {{0, 1, 1, far / 2}}}}};
  const auto store = hdf5_store();
  FileSpec source;
  source.arrays = {array("w", H5T_STD_U8LE, {far})};
  store->create(folder / "a.h5", source);  // all of it a hole
  store->create(folder / "seen.h5", spec);
  CHECK(store->catalog(folder / "seen.h5").schema->datasets.at(0).views == spec.arrays[0].views);
}

}  // namespace
