#include "catch.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::Maker;
using fixture::TemporaryDirectory;

std::vector<std::string> names_of(const Schema& schema) {
  std::vector<std::string> names;
  for (const auto& array : *schema.arrays) names.push_back(array.name);
  return names;
}

TEST_CASE(
    "Hard links are names of their own and may form cycles; soft links are names, too; named types are no tensors") {
  const TemporaryDirectory folder;
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
  CHECK(names_of(*catalog.schema) == std::vector<std::string>{"again", "g/h/w", "soft/w", "softer", "typed"});
  CHECK((*catalog.schema->arrays)[4].dtype.name == "i16");
  CHECK(catalog.schema->datasets[2].extents.offset() == catalog.schema->datasets[1].extents.offset());
  CHECK(catalog.schema->datasets[3].extents.offset() == catalog.schema->datasets[1].extents.offset());
  CHECK(catalog.schema->datasets[0].extents.offset() == catalog.schema->datasets[1].extents.offset());
}

TEST_CASE("Links that lead out of the file or nowhere are refused by name") {
  const TemporaryDirectory folder;
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
  const auto message = [&](const char* name) { return fixture::refusal(*store, folder / name); };
  CHECK_THAT(message("soft.h5"), Contains("soft.h5: /s: is a soft link to nothing"));
  CHECK_THAT(message("external.h5"), Contains("external.h5: /x: is a link to another file"));
  CHECK_THAT(message("loop.h5"), Contains("is a soft link to nothing"));
}

TEST_CASE("Soft links do not lead through links out of the file") {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker other(folder / "other.h5");
    other.dataset("w", H5T_STD_I8LE, {3}, "abc");
    Maker file(folder / "a.h5");
    hdf5::check(H5Lcreate_soft("/z/w", file.file(), "by", H5P_DEFAULT, H5P_DEFAULT), "link");
    hdf5::check(H5Lcreate_external("other.h5", "/", file.file(), "z", H5P_DEFAULT, H5P_DEFAULT), "link");
  }
  CHECK_THAT(fixture::refusal(*hdf5_store(), folder / "a.h5"), Contains("a.h5: /by: is a soft link to nothing: /z/w"));
}

TEST_CASE("Groups that soft links connect in all ways do not multiply their names") {
  const TemporaryDirectory folder;
  constexpr int groups = 12;  // each leads to each other one: more ways than atoms in a grain of sand
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const auto name = [](int number) { return "g" + std::to_string(number); };
    for (int g = 0; g < groups; ++g) file.dataset(name(g) + "/w", H5T_STD_I8LE, {3}, "abc");
    for (int g = 0; g < groups; ++g)
      for (int to = 0; to < groups; ++to)
        if (to != g)
          hdf5::check(H5Lcreate_soft(("/" + name(to)).c_str(), file.file(), (name(g) + "/" + name(to)).c_str(),
                                     H5P_DEFAULT, H5P_DEFAULT),
                      "link");
  }
  const FileCatalog catalog = hdf5_store()->catalog(folder / "a.h5");
  CHECK(catalog.schema->arrays->size() == groups * groups);  // each one's own, and what its links lead to
}

TEST_CASE("Groups linked to make endless names end in an error") {
  const TemporaryDirectory folder;
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
  CHECK_THAT(fixture::refusal(*hdf5_store(), folder / "a.h5"), Contains("more names than a file of this size"));
}

}  // namespace
