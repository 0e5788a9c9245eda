#include "base/log.hpp"
#include "catch.hpp"
#include "sandbox/helper_process.hpp"
#include "store/hdf5/read_schema.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::VectorContains;
using fixture::counted;
using fixture::error_of;
using fixture::Maker;
using fixture::TemporaryDirectory;

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
  for (auto* told : {&all.left_out, &all.no_tensors}) {
    std::sort(told->begin(), told->end());
    for (const std::string& each : *told) text += "\n" + each;
  }
  return text;
}

TEST_CASE("A file that is read in parts says what it says as a whole") {
  const TemporaryDirectory folder;
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
  const TemporaryDirectory folder;
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
  const TemporaryDirectory folder;
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
    CHECK_THAT(fixture::refusal(*store, folder / "a.h5"), Contains("/1000x: is a link to another file"));
  else
    CHECK(store->catalog(folder / "a.h5").schema->datasets.size() == 5000);
}

TEST_CASE("What is left out is logged in this process, with the file's name") {
  const TemporaryDirectory folder;
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
  hdf5_store()->catalog(folder / "a.h5");
  const std::string path = (folder / "a.h5").string();
  CHECK_THAT(log::warnings(),
             VectorContains(path + ": attributes that refer to objects of the file are left out: parent of /g/w"));
  CHECK_THAT(log::warnings(),
             VectorContains(path + ": 1 of its names is left out, which is no tensor: /type (a named datatype)"));
}

}  // namespace
