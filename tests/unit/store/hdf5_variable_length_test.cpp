#include "catch.hpp"
#include "store/value_memory.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::bytes_of;
using fixture::error_of;
using fixture::Maker;
using fixture::put_bytes;
using fixture::TemporaryDirectory;
using fixture::text_type;
using hdf5::check;
using hdf5::own;
using hdf5::TypeId;

/// A note as a program holds it in memory: parts of variable length between others, one inside another.
struct Note {
  std::int8_t mark;
  const char* title;
  std::int32_t page;
  const char* words[2];
  hvl_t numbers;
  hvl_t lines;  ///< of texts
};

TypeId note_type() {
  const hsize_t two = 2;
  const auto text = text_type();
  const auto words = own<TypeId>(H5Tarray_create2(text.get(), 1, &two), "words");
  const auto numbers = own<TypeId>(H5Tvlen_create(H5T_STD_I16LE), "numbers");
  const auto lines = own<TypeId>(H5Tvlen_create(text.get()), "lines");
  TypeId type = own<TypeId>(H5Tcreate(H5T_COMPOUND, sizeof(Note)), "note");
  check(H5Tinsert(type.get(), "title", HOFFSET(Note, title), text.get()), "insert");  // not in the order of offsets
  check(H5Tinsert(type.get(), "mark", HOFFSET(Note, mark), H5T_STD_I8LE), "insert");
  check(H5Tinsert(type.get(), "page", HOFFSET(Note, page), H5T_STD_I32LE), "insert");
  check(H5Tinsert(type.get(), "words", HOFFSET(Note, words), words.get()), "insert");
  check(H5Tinsert(type.get(), "numbers", HOFFSET(Note, numbers), numbers.get()), "insert");
  check(H5Tinsert(type.get(), "lines", HOFFSET(Note, lines), lines.get()), "insert");
  return type;
}

void check_notes(const std::filesystem::path& path) {
  const hdf5::Lock lock;
  const hdf5::FileId file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, hdf5::file_access().get()));
  const hdf5::DatasetId dataset(H5Dopen2(file.get(), "notes", H5P_DEFAULT));
  std::vector<Note> found(2);
  const auto type = note_type();
  check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), "read");
  CHECK(std::string(found[0].title) == "first title");
  CHECK(found[0].mark == 1);
  CHECK(found[1].page == 22);
  CHECK(std::string(found[0].words[1]) == "b");
  CHECK(std::string(found[1].words[0]) == "cc");
  REQUIRE(found[0].numbers.len == 3);
  CHECK(static_cast<std::int16_t*>(found[0].numbers.p)[2] == 9);
  CHECK(found[1].numbers.len == 0);
  REQUIRE(found[1].lines.len == 2);
  CHECK(std::string(static_cast<char**>(found[1].lines.p)[1]) == "line two");
  check(H5Dvlen_reclaim(type.get(), Maker::simple({2}).get(), H5P_DEFAULT, found.data()), "reclaim");
}

TEST_CASE("Variable-length parts inside compounds, arrays and one another are read and written again") {
  const bool chunked = GENERATE(false, true);
  const bool latest = GENERATE(false, true);
  const hsize_t user_block = GENERATE(0, 512);
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5", user_block, latest);
    std::int16_t numbers[] = {7, 8, 9};
    const char* lines[] = {"line one", "line two"};
    const Note notes[] = {{1, "first title", 11, {"a", "b"}, {3, numbers}, {0, nullptr}},
                          {2, "", 22, {"cc", ""}, {0, nullptr}, {2, lines}}};
    const auto type = note_type();
    const auto dataset = file.dataset("notes", type.get(), {2}, notes, [&](hid_t creation) {
      const hsize_t chunk = 1;
      if (chunked) check(H5Pset_chunk(creation, 1, &chunk), "chunk");
    });
    file.attribute(dataset.get(), "also", type.get(), {2}, notes);
  }
  check_notes(folder / "a.h5");
  const auto store = hdf5_store();
  const FileCatalog first = store->catalog(folder / "a.h5");
  store->create(folder / "b.h5", fixture::spec_of(*first.schema));
  check_notes(folder / "b.h5");
  const FileCatalog second = store->catalog(folder / "b.h5");
  CHECK((*first.schema->arrays)[0].dtype == (*second.schema->arrays)[0].dtype);
  CHECK(first.schema->datasets[0].verbatim == second.schema->datasets[0].verbatim);
  CHECK(first.schema->datasets[0].attributes == second.schema->datasets[0].attributes);
  CHECK(first.schema->datasets[0].attributes[0].value == first.schema->datasets[0].verbatim);
}

TEST_CASE("Texts that fill several heap collections, in a dataset that could grow") {
  const TemporaryDirectory folder;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 500; ++i) texts.push_back(std::string(i * 7 % 5000, static_cast<char>('a' + i % 26)));
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    std::vector<const char*> pointers;
    for (const auto& text : texts) pointers.push_back(text.c_str());
    const hsize_t size = 500;
    const hsize_t limit = H5S_UNLIMITED;
    const hsize_t chunk = 64;
    const auto space = own<hdf5::SpaceId>(H5Screate_simple(1, &size, &limit), "space");
    const auto creation = own<hdf5::PropertyId>(H5Pcreate(H5P_DATASET_CREATE), "dcpl");
    check(H5Pset_chunk(creation.get(), 1, &chunk), "chunk");
    check(H5Pset_deflate(creation.get(), 1), "gzip");
    const auto dataset = own<hdf5::DatasetId>(
        H5Dcreate2(file.file(), "texts", text_type().get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        "dataset");
    check(H5Dwrite(dataset.get(), text_type().get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()), "write");
  }
  std::string expected;
  for (const auto& text : texts) {
    const std::uint64_t size = text.size();
    expected.append(reinterpret_cast<const char*>(&size), sizeof size);
    expected += text;
  }
  const auto store = hdf5_store();
  const FileCatalog catalog = store->catalog(folder / "a.h5");
  CHECK((catalog.schema->datasets[0].verbatim->bytes == expected));
  store->create(folder / "b.h5", fixture::spec_of(*catalog.schema));
  CHECK((store->catalog(folder / "b.h5").schema->datasets[0].verbatim->bytes == expected));
}

/// A file whose one text is "the text", whose heap is then changed by `damage(heap, references)`: offsets in the file
/// of the heap's collection and of the reference.
std::string refusal(const std::function<void(std::string& file, std::size_t heap, std::size_t reference)>& damage) {
  const TemporaryDirectory folder;
  {
    const hdf5::Lock lock;
    Maker file(folder / "a.h5");
    const char* text = "the text";
    file.dataset("t", text_type().get(), {}, &text);
  }
  std::string bytes = bytes_of(folder / "a.h5");
  const std::size_t heap = bytes.find("GCOL");
  const std::uint64_t address = heap;
  const std::string reference = std::string("\10\0\0\0", 4) + std::string(reinterpret_cast<const char*>(&address), 8);
  const std::size_t place = bytes.find(reference);
  REQUIRE(heap != std::string::npos);
  REQUIRE(place != std::string::npos);
  damage(bytes, heap, place);
  put_bytes(folder / "b.h5", bytes);
  return fixture::refusal(*hdf5_store(), folder / "b.h5");
}

TEST_CASE("Values of variable length take no more memory than they may, of all files together") {
  const TemporaryDirectory folder;
  const std::string long_text(1000, 'x');
  for (const char* name : {"a.h5", "b.h5"}) {
    const hdf5::Lock lock;
    Maker file(folder / name);
    const char* text = long_text.c_str();
    file.dataset("t", text_type().get(), {}, &text);
    file.dataset(name, text_type().get(), {}, &text);
  }
  const auto store = hdf5_store(5000);
  CHECK(value_bytes(*store->catalog(folder / "a.h5").schema) == 2016);
  CHECK(fixture::refusal(*store, folder / "b.h5").empty());
  const auto other = hdf5_store(4000);
  CHECK(fixture::refusal(*other, folder / "b.h5").empty());
  CHECK_THAT(fixture::refusal(*other, folder / "a.h5"),
             Contains("a.h5: /t: its values of variable length take more than 3.9 KiB of memory"));
}

TEST_CASE("A damaged heap of variable-length data ends in an error") {
  using File = std::string&;
  constexpr std::size_t first_object = 16;
  const auto damaged = Contains("/t: its variable-length data is damaged");
  CHECK(refusal([](File, std::size_t, std::size_t) {}).empty());
  for (const char size : {'\0', '\7', '\1'})  // smaller than the text
    CHECK_THAT(refusal([&](File file, std::size_t heap, std::size_t) { file[heap + first_object + 8] = size; }),
               damaged);
  for (const std::size_t byte : {9U, 12U, 15U})  // larger than the heap, up to where sums overflow
    CHECK_THAT(refusal([&](File file, std::size_t heap, std::size_t) { file[heap + first_object + byte] = '\xff'; }),
               damaged);
  CHECK_THAT(refusal([&](File file, std::size_t heap, std::size_t) { file[heap + first_object] = '\0'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t heap, std::size_t) { file[heap] = 'X'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t heap, std::size_t) { file[heap + 14] = '\1'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t heap, std::size_t) { file[heap + 9] = '\0'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t, std::size_t reference) { file[reference] = '\11'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t, std::size_t reference) { file[reference + 3] = '\x7f'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t, std::size_t reference) { file[reference + 4] ^= 8; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t, std::size_t reference) { file[reference + 11] = '\x7f'; }), damaged);
  CHECK_THAT(refusal([&](File file, std::size_t, std::size_t reference) { file[reference + 12] = '\2'; }), damaged);
}

}  // namespace
