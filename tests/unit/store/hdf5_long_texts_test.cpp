#include "catch.hpp"
#include "store/hdf5/text_heap.hpp"
#include "store/value_memory.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::bytes_of;
using fixture::error_of;
using fixture::Maker;
using fixture::TemporaryDirectory;
using fixture::text_type;
using hdf5::check;

using Texts = std::vector<std::optional<std::string>>;

/// Of every length about the sizes that matter: nothing, empty, words, more than a collection.
Texts many_texts() {
  Texts texts{std::nullopt, "", "a", std::string(70000, 'l'), "\xc3\xa4"};
  for (std::size_t i = 0; i < 9000; ++i) texts.emplace_back(std::string(i % 257, static_cast<char>('a' + i % 26)));
  texts.emplace_back("the last");
  texts.emplace_back(std::nullopt);
  return texts;
}

void make_texts(const std::filesystem::path& path, const Texts& texts, hsize_t user_block = 0) {
  const hdf5::Lock lock;
  Maker file(path, user_block);
  std::vector<const char*> pointers;
  for (const auto& text : texts) pointers.push_back(text ? text->c_str() : nullptr);
  const float numbers[] = {1, 2, 3};
  file.dataset("n", H5T_NATIVE_FLOAT, {3}, numbers);
  file.dataset("t", text_type().get(), {pointers.size()}, pointers.data());
}

/// As HDF5 reads them, which has no empty ones where there are none.
Texts texts_of(const std::filesystem::path& path) {
  const hdf5::Lock lock;
  const hdf5::FileId file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, hdf5::file_access().get()));
  const hdf5::DatasetId dataset(H5Dopen2(file.get(), "t", H5P_DEFAULT));
  const hdf5::SpaceId space(H5Dget_space(dataset.get()));
  std::vector<char*> pointers(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  const auto type = text_type();
  check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()), "read");
  Texts texts;
  for (const char* text : pointers) texts.push_back(text == nullptr ? std::nullopt : std::optional<std::string>(text));
  check(H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data()), "reclaim");
  return texts;
}

FileSpec spec_with_texts(const std::filesystem::path& file, const Schema& schema) {
  FileSpec spec;
  for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
    FileSpec::Array array;
    array.name = (*schema.arrays)[i].name;
    array.dtype = (*schema.arrays)[i].dtype;
    array.shape = (*schema.arrays)[i].shape;
    if (const auto& texts = schema.datasets[i].texts) array.texts = TextsOfFile{*texts, file};
    spec.arrays.push_back(array);
  }
  return spec;
}

}  // namespace

TEST_CASE("Long texts stay in their file, and go from there to a new one") {
  const TemporaryDirectory folder;
  const Texts texts = many_texts();
  make_texts(folder / "a.h5", texts, GENERATE(0, 512));
  const auto store = hdf5_store(1000);
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  const std::size_t t = catalog.schema->find("t");
  const Dataset& dataset = catalog.schema->datasets.at(t);
  REQUIRE(dataset.texts);
  CHECK_FALSE(dataset.verbatim);
  CHECK(value_bytes(*catalog.schema) == 0);

  const FileSpec spec = spec_with_texts(folder / "a.h5", *catalog.schema);
  const FileRoom room = store->create(folder / "b.h5", spec);
  CHECK(texts_of(folder / "b.h5") == texts_of(folder / "a.h5"));
  CHECK(room.data.at(t).bytes() == 0);
  CHECK(room.bytes == std::filesystem::file_size(folder / "b.h5"));
  CHECK(store->open_to_fill(folder / "b.h5", room)->sum_rest() == room.metadata);
  const FileCatalog written = store->catalog(folder / "b.h5");
  CHECK(sum_of_value(written.schema->datasets.at(t)) == sum_of_value(dataset));

  const auto again = store->create_again(folder / "b.h5", spec);
  CHECK(again.room.metadata == room.metadata);
  CHECK(again.is_kept);
}

TEST_CASE("Long texts have the sum of the value that they would be") {
  const TemporaryDirectory folder;
  make_texts(folder / "a.h5", many_texts());
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  const Dataset& dataset = catalog.schema->datasets.at(catalog.schema->find("t"));
  REQUIRE(dataset.texts);
  const Value value = store->whole_texts({*dataset.texts, folder / "a.h5"});
  CHECK(value.bytes.size() == dataset.texts->bytes);
  CHECK(sum_of(std::as_bytes(std::span(value.bytes)), 0) == dataset.texts->sum);
  CHECK(value.bytes.starts_with(std::string(8, '\xff') + std::string(8, '\0')));
  CHECK_THAT(error_of([&] {
               static_cast<void>(hdf5_store(1000)->whole_texts({*dataset.texts, folder / "a.h5"}));
             }),
             Contains("a.h5: its values of variable length take more than 1000 B of memory"));
}

TEST_CASE("Long texts give the same file whether they are held or not") {
  const TemporaryDirectory folder;
  make_texts(folder / "a.h5", many_texts());
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  FileSpec spec = spec_with_texts(folder / "a.h5", *catalog.schema);
  const FileRoom streamed = store->create(folder / "b.h5", spec);
  for (FileSpec::Array& array : spec.arrays)
    if (array.texts) {
      array.verbatim = store->whole_texts(*array.texts);
      array.texts.reset();
    }
  const FileRoom held = store->create(folder / "c.h5", spec);
  CHECK(held.metadata == streamed.metadata);
  CHECK(bytes_of(folder / "c.h5") == bytes_of(folder / "b.h5"));
}

TEST_CASE("Long texts that have changed since they were counted are not written") {
  const TemporaryDirectory folder;
  Texts texts = many_texts();
  make_texts(folder / "a.h5", texts);
  const auto store = hdf5_store();
  const FileSpec spec = spec_with_texts(folder / "a.h5", *store->catalog(folder / "a.h5").schema);
  texts[3]->back() = 'm';
  make_texts(folder / "a.h5", texts);
  CHECK_THAT(error_of([&] { store->create(folder / "b.h5", spec); }),
             Contains("a.h5: its texts are no longer those that were read first"));
}

TEST_CASE("One text alone must have room") {
  const TemporaryDirectory folder;
  make_texts(folder / "a.h5", {std::string(3 << 20, 'x')});
  CHECK_THAT(fixture::refusal(*hdf5_store(1000), folder / "a.h5"),
             Contains("a.h5: /t: one of its texts takes 3.0 MiB, expected at most 500 B, a sixteenth of the memory"));
  CHECK(fixture::refusal(*hdf5_store(8 << 20), folder / "a.h5").empty());
}

TEST_CASE("A text that was short when it was counted has no more room later") {
  const TemporaryDirectory folder;
  make_texts(folder / "a.h5", {std::string(3 << 20, 'x')});
  const FileSpec spec = spec_with_texts(folder / "a.h5", *hdf5_store(8 << 20)->catalog(folder / "a.h5").schema);
  const auto small = hdf5_store(4 << 20);
  CHECK_THAT(error_of([&] { small->create(folder / "b.h5", spec); }),
             Contains("a.h5: one of its texts takes 3.0 MiB, expected at most 2.0 MiB, a sixteenth of the memory"));
}

TEST_CASE("A text has less than 4 GiB") {
  hdf5::TextCollections collections;
  collections.add((1ULL << 32) - 1);
  CHECK_THAT(error_of([&] { collections.add(1ULL << 32); }),
             Contains("one of its texts takes 4.0 GiB, expected less than 4 GiB"));
}
