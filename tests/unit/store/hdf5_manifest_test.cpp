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
using fixture::TemporaryDirectory;
using fixture::text_type;

TEST_CASE("A manifest is written over by offset, whatever its size and company, and the rest of the file stays") {
  const TemporaryDirectory folder;
  const auto store = hdf5_store();
  for (const std::size_t size : {least_manifest_bytes, 70'000UL, 3'000'000UL})
    for (const int attributes : {0, 1, 7, 8, 9, 200}) {
      CAPTURE(size, attributes);
      const auto path = folder / "a.h5";
      FileSpec spec;
      {
        const hdf5::Lock lock;
        spec.arrays = {array("w", H5T_IEEE_F32LE, {1024, 3})};
        Maker file(folder / "model.h5");
        for (std::int64_t i = 0; i < attributes; ++i)
          file.attribute(file.file(), "attribute " + std::to_string(i), H5T_STD_I64LE, {1}, &i);
      }
      spec.attributes = store->catalog(folder / "model.h5").schema->attributes;
      spec.layout = std::string("{}");
      spec.manifest = std::string(size, 'm');
      const FileRoom room = store->create(path, spec);
      REQUIRE(room.manifest);
      CHECK((bytes_of(path).substr(room.manifest->lo, size) == spec.manifest));

      const std::string other = std::string(size - 1, 'n') + "!";
      const PosixFile file = PosixFile::open_for_writing(path);
      file.write(room.manifest->lo, std::as_bytes(std::span(other)));
      const auto schema = store->catalog(path).schema;
      CHECK((schema->manifest == other));
      CHECK(schema->attributes == spec.attributes);
      CHECK(schema->layout == "{}");
      const std::uint64_t data = room.data[0].offset();
      CHECK(*room.manifest == Interval{room.manifest->lo, room.manifest->lo + size});
      CHECK(sum_outside(file, room.bytes, {{data, data + 1024 * 3 * 4}, *room.manifest}) == room.metadata);
      CHECK(store->open_to_fill(path, room)->sum_rest() == room.metadata);

      const auto again = store->create_again(path, spec);
      CHECK(again.room.metadata == room.metadata);
      CHECK(again.is_kept);  // what had been written there is no reason to begin anew
      CHECK((store->catalog(path).schema->manifest == spec.manifest));
    }
}

TEST_CASE("A manifest that stands in a file twice is refused: which is it?") {
  const TemporaryDirectory folder;
  const std::string text(least_manifest_bytes, 'm');
  FileSpec spec;
  {
    const hdf5::Lock lock;
    Maker file(folder / "model.h5");
    const char* value = text.c_str();
    file.attribute(file.file(), "the same", text_type().get(), {}, &value);
  }
  const auto store = hdf5_store();
  spec.attributes = store->catalog(folder / "model.h5").schema->attributes;
  spec.manifest = text;
  CHECK_THAT(error_of([&] { store->create(folder / "a.h5", spec); }), Contains("stands in it twice"));
  spec.manifest += "?";
  CHECK(store->create(folder / "a.h5", spec).manifest);
}

}  // namespace
