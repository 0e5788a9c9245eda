#include "catch.hpp"
#include "store/zip/zip_directory.hpp"
#include "store/zip/zip_layout.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::Entry;
using fixture::error_of;
using fixture::TemporaryDirectory;

std::vector<torch::ZipEntry> entries_of(const std::string& bytes) {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.zip", bytes);
  return torch::zip_directory(PosixFile::open_for_reading(folder / "a.zip"), {0, bytes.size()});
}

std::string refused_zip(const std::string& bytes) {
  return error_of([&] { entries_of(bytes); });
}

std::string refused_entry(const Entry& entry) {
  return refused_zip(fixture::zip({{"a/first", "1"}, entry}));
}

TEST_CASE("A zip directory gives names and places, in either width") {
  for (const bool wide : {false, true}) {
    const std::string bytes = fixture::zip({{"a/z", "last"}, {"a/b", "first"}, {"a/empty", ""}}, wide);
    const auto entries = entries_of(bytes);
    REQUIRE(entries.size() == 3);
    CHECK(entries[0].name == "a/b");
    CHECK(bytes.substr(entries[0].place.lo, entries[0].place.size()) == "first");
    CHECK(entries[0].place.lo % 64 == 0);
    CHECK(entries[1].place.empty());
    CHECK(bytes.substr(entries[2].place.lo, entries[2].place.size()) == "last");
  }
}

TEST_CASE("A zip archive inside a file is counted from its own start") {
  const TemporaryDirectory folder;
  const std::string archive = fixture::zip({{"a/b", "data"}});
  fixture::put_bytes(folder / "many", "before" + archive + "behind");
  const auto entries = torch::zip_directory(PosixFile::open_for_reading(folder / "many"), {6, 6 + archive.size()});
  REQUIRE(entries.size() == 1);
  CHECK(("before" + archive).substr(entries[0].place.lo, 4) == "data");
}

TEST_CASE("Entries that lie are refused by name") {
  CHECK_THAT(refused_entry({"a/b", "data", 8}), Contains("a/b: found a compressed entry") && Contains("save it again"));
  CHECK_THAT(refused_entry({"a/b", "data", 0, 1}), Contains("a/b: found an encrypted entry"));
  CHECK_THAT(refused_entry({"a/first", "2"}), Contains("a/first: found two entries of this name"));
  CHECK_THAT(refused_entry({"a/b", "data", 0, 0x0800, 1'000'000}), Contains("a/b: found 1000004 bytes at byte"));
  CHECK_THAT(refused_entry({"a/b", "data", 0, 0x0800, 0, 1}),
             Contains("header of its own that is not as the directory says"));
  CHECK_THAT(refused_entry({"a/b", "data", 0, 0x0800, 0, 1'000'000}), Contains("a/b: found its header at byte"));
  CHECK_THAT(refused_entry({"a/b", "data", 0, 0x0800, 0, 0, "a/c"}),
             Contains("header of its own that is not as the directory says"));
  // The first one's data reaches into the second; both are in one place (the second begins at byte 81).
  CHECK_THAT(refused_zip(fixture::zip({{"a/a", "1", 0, 0x0800, 20}, {"a/b", "data"}})), Contains("overlap at byte 81"));
  CHECK_THAT(refused_zip(fixture::zip({{"a/b", "1"}, {"a/b", "data", 0, 0x0800, 0, -81}})),
             Contains("overlap at byte 0"));
}

TEST_CASE("A zip archive that is cut off or changed anywhere is refused or read within itself") {
  const std::string whole = fixture::zip({{"a/first", "1"}, {"a/b", std::string(100, 'd')}});
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(refused_zip(whole.substr(0, size)).empty());
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int other : {0x00, 0x7f, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(other);
      error_of([&] {
        for (const auto& entry : entries_of(changed)) CHECK(entry.place.hi <= whole.size());
      });
    }
}

TEST_CASE("A 64-bit record far away, and a directory of other sizes, are refused") {
  std::string far = fixture::zip({{"a/b", "data"}});
  const std::size_t locator = far.rfind("PK\6\7");
  far.replace(locator + 8, 8, fixture::little(std::uint64_t{1} << 63U, 8));
  CHECK_THAT(refused_zip(far), Contains("64-bit record at byte 9223372036854775808"));
  std::string many = fixture::zip({{"a/b", "data"}});
  const std::size_t record = many.rfind("PK\6\6");
  many.replace(record + 32, 8, fixture::little(std::uint64_t{1} << 40U, 8));
  CHECK_THAT(refused_zip(many), Contains("1099511627776 entries"));
}

TEST_CASE("An archive that is laid out is read again, with numbers of 64 bits where they are needed") {
  const fixture::TemporaryDirectory folder;
  const std::uint64_t large = (std::uint64_t{5} << 30) + 3;
  torch::ZipLayout layout("archive");
  std::vector<std::pair<std::string, Interval>> places{{"archive/a", layout.add("a", "bytes")}};
  places.emplace_back("archive/b", layout.add_room("b", large));
  places.emplace_back("archive/c", layout.add_room("c", 5, "12345"));
  places.emplace_back("archive/d", layout.add_room("d", 0));
  const torch::ZipForm form = layout.take();
  const PosixFile file = PosixFile::create(folder / "a.zip");
  file.resize(form.bytes);
  for (const FileSegment& segment : form.segments) file.write(segment.offset, std::as_bytes(std::span(segment.bytes)));
  const auto entries = torch::zip_directory(file, {0, form.bytes});
  REQUIRE(entries.size() == places.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CHECK(entries[i].name == places[i].first);
    CHECK(entries[i].place == places[i].second);
    CHECK(entries[i].place.lo % 64 == 0);
  }
  CHECK(places[1].second.size() == large);
  std::string held(5, '\0');
  file.read(places[2].second.lo, std::as_writable_bytes(std::span(held)));
  CHECK(held == "12345");
}

}  // namespace
