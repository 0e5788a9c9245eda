#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::TemporaryDirectory;

using Names = std::vector<std::string>;

std::string refusal(const Names& datasets, const Names& groups = {}) {
  return error_of([&] { hdf5_store()->check_names(datasets, groups); });
}

std::string levels(std::size_t count) {
  std::string name = "n";
  for (std::size_t i = 1; i < count; ++i) name += "/n";
  return name;
}

TEST_CASE("Names of one file must be names of HDF5, and may not be those of groups with attributes") {
  CHECK(refusal({"a", "a.b", "b/c", "b/d", "..", "ü/x y"}, {"b", "b/e", "other"}).empty());
  CHECK_THAT(refusal({"a//b"}), Contains("dataset name \"a//b\": a part of it is empty"));
  CHECK_THAT(refusal({""}), Contains("a part of it is empty"));
  CHECK_THAT(refusal({"a/"}), Contains("a part of it is empty"));
  CHECK_THAT(refusal({"a/./b"}), Contains("a part of it is \".\""));
  CHECK_THAT(refusal({std::string("a\0b", 3)}), Contains("is not text"));
  const std::string in_the_way = "has attributes that are kept, expected another name for a dataset";
  CHECK_THAT(refusal({"b", "a"}, {"a"}), Contains("dataset name \"a\": group \"a\" " + in_the_way));
  CHECK_THAT(refusal({"a"}, {"a/b"}), Contains("dataset name \"a\": group \"a/b\" " + in_the_way));
  CHECK_THAT(refusal({"a/b"}, {"a/b/c/d"}), Contains("dataset name \"a/b\": group \"a/b/c/d\" " + in_the_way));
}

TEST_CASE("A name has as many levels at most as can be read back") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  const std::size_t most = 128;
  FileSpec spec;
  spec.arrays.push_back(fixture::array(levels(most), H5T_STD_I8LE, {4}));
  store->create(folder / "a.h5", spec);
  CHECK(store->catalog(folder / "a.h5").schema->arrays->front().name == levels(most));
  CHECK_THAT(refusal({levels(most + 1)}), Contains("it has 129 levels, expected at most 128"));
  CHECK_THAT(error_of([&] { spec.arrays.front().name = levels(most + 1), store->create(folder / "b.h5", spec); }),
             Contains("it has 129 levels"));
  CHECK_FALSE(std::filesystem::exists(folder / "b.h5"));
  CHECK(refusal({}, {levels(most - 1)}).empty());
  CHECK_THAT(refusal({}, {levels(most)}), Contains("group name"));
}

}  // namespace
