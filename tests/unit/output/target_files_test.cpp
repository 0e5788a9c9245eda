#include "output/target_files.hpp"

#include "catch.hpp"
#include "output/resume.hpp"
#include "unit/memory_move.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// The bytes of all of a file's arrays, by name.
std::map<std::string, std::string> contents(Memory& memory, const fs::path& file) {
  std::map<std::string, std::string> contents;
  Store& store = memory.stores.named("memory");
  const FileCatalog catalog = store.catalog(file);
  const auto source = store.open(file, catalog);
  for (std::size_t i = 0; i < catalog.schema->arrays->size(); ++i) {
    const StoredArray& array = (*catalog.schema->arrays)[i];
    std::string& bytes = contents[array.name];
    if (array.verbatim) {
      bytes = catalog.schema->datasets[i].verbatim->bytes;
    } else {
      bytes.resize(bytes_of(array));
      source->read(i, 0, std::as_writable_bytes(std::span(bytes)));
    }
  }
  return contents;
}

constexpr std::uint64_t slices[] = {0, 1, 24, 1000};

}  // namespace

TEST_CASE("what is cut over four cards and put together again is what it was, in whatever extents it lies") {
  Memory memory(GENERATE(from_range(std::begin(slices), std::end(slices))));
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), four_cards());
  cut.whole();
  const Layout one = fixture::layout(R"(["x"])", "[1]", R"("default": "replicate")");
  Move together(memory, cut.place(), four_cards(), one);
  together.whole();
  CHECK(contents(memory, together.file(0)) == contents(memory, "/in/whole"));
  const auto schema = memory.stores.named("memory").catalog(together.file(0)).schema;
  CHECK(schema->attributes == std::vector<Attribute>{{"framework", text_value("none")}});
  CHECK(schema->datasets[schema->find("a")].attributes == std::vector<Attribute>{{"unit", text_value("m")}});
  CHECK(cut.sums().of_parameters(*memory.alone) == together.sums().of_parameters(*memory.alone));
}

TEST_CASE("what the storage gives back is summed by itself, and a changed byte is seen") {
  Memory memory(GENERATE(from_range(std::begin(slices), std::end(slices))));
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), four_cards());
  cut.whole();
  const auto summed = [&] {
    ContentSums sums(cut.target());
    cut.files().sum_again(100, 2, sums);
    std::vector<Fingerprint> files;
    for (Position card = 0; card < 4; ++card) files.push_back(sums.of_file(card));
    return files;
  };
  std::vector<Fingerprint> written;
  for (Position card = 0; card < 4; ++card) written.push_back(cut.sums().of_file(card));
  CHECK(summed() == written);
  const std::uint64_t bytes = memory.files->find(cut.file(2))->bytes().size();
  for (std::uint64_t at = 17; at < bytes; at += 1 + bytes / 40) {
    std::byte byte{};
    const auto target = memory.files->find(cut.file(2));  // as it is open
    target->read(at, {&byte, 1});
    const std::byte other = byte ^ std::byte{1};
    target->write(at, {&other, 1});
    const auto found = summed();
    CHECK_FALSE(found[2] == written[2]);
    CHECK(found[0] == written[0]);
    target->write(at, {&byte, 1});
  }
}

TEST_CASE("files of an interrupted run are kept with their data, unless they are others") {
  Memory memory(40);
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), four_cards());
  cut.whole();
  const std::string first = memory.files->find(cut.file(0))->bytes();
  memory.files->put(cut.file(1), "something else");
  cut.make_files(true);
  CHECK(cut.files().is_kept(0, 0));
  CHECK_FALSE(cut.files().is_kept(1, 0));
  CHECK((memory.files->find(cut.file(0))->bytes() == first));
  CHECK_FALSE((memory.files->find(cut.file(1))->bytes() == "something else"));
}

TEST_CASE("only chunks that lie close behind one another in one extent are neighbours") {
  Memory memory(GENERATE(0U, 24U));
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), four_cards());
  cut.create(false);
  ChunkSequence sequence = cut.chunks();
  std::vector<Chunk> chunks;
  while (const auto chunk = sequence.next()) chunks.push_back(*chunk);
  REQUIRE(chunks.size() > 10);
  const bool is_sliced = memory.stores.named("memory").catalog(cut.file(0)).schema->datasets[0].extents.count() > 1;
  std::size_t neighbours = 0;
  for (const Chunk& first : chunks)
    for (const Chunk& second : chunks) {
      if (!cut.files().are_neighbours(first, second)) continue;
      ++neighbours;
      CHECK(first.card == second.card);
      CHECK(cut.files().place_of(second) >= cut.files().place_of(first) + first.bytes);
      if (is_sliced) CHECK((first.bytes <= 24 && second.bytes <= 24));
    }
  if (!is_sliced) CHECK(neighbours > 0);
}

TEST_CASE("chunks come in another order of the arrays where they are asked to") {
  Memory memory;
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), four_cards());
  cut.create(false);
  const auto arrays = [](ChunkSequence sequence) {
    std::vector<ArrayId> found;
    while (const auto chunk = sequence.next())
      if (chunk->card == 0 && (found.empty() || found.back() != chunk->array)) found.push_back(chunk->array);
    return found;
  };
  std::vector<ArrayId> order = cut.files().order();
  std::vector<ArrayId> given = arrays(cut.chunks());
  CHECK(std::is_sorted(given.begin(), given.end()));
  std::reverse(order.begin(), order.end());
  std::reverse(given.begin(), given.end());
  ChunkSequence reversed = cut.chunks();
  reversed.take_order(order);
  CHECK(arrays(std::move(reversed)) == given);
}

TEST_CASE("several and shared files: each is made, summed and named by itself, and all together are what was cut") {
  Memory memory(GENERATE(from_range(std::begin(slices), std::end(slices))));
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), two_files_each());
  cut.whole();
  const auto list = cut.files().list(&cut.sums());
  std::vector<std::pair<std::string, std::uint64_t>> names;
  for (const ManifestFile& file : list) {
    names.emplace_back(file.name, file.card);
    CHECK(file.bytes == memory.files->find(cut.place() / file.name)->bytes().size());
  }
  CHECK(names == std::vector<std::pair<std::string, std::uint64_t>>{{"mp_00/model", 0},
                                                                    {"mp_00/optim_0", 0},
                                                                    {"mp_00/optim_1", 1},
                                                                    {"mp_01/model", 2},
                                                                    {"mp_01/optim_0", 2},
                                                                    {"mp_01/optim_1", 3}});
  CHECK(contents(memory, cut.place() / "mp_01/model").size() == 2);
  ContentSums again(cut.target());
  cut.files().sum_again(100, 2, again);
  for (FileNumber file = 0; file < 6; ++file) CHECK(again.of_file(file) == cut.sums().of_file(file));

  Move other(memory, cut.place(), two_files_each(), four_cards());
  other.whole();
  const Layout one = fixture::layout(R"(["x"])", "[1]", R"("default": "replicate")");
  Move together(memory, other.place(), four_cards(), one);
  together.whole();
  CHECK(contents(memory, together.file(0)) == contents(memory, "/in/whole"));
}

TEST_CASE("a resumed job keeps what its journal tells of each of a card's files") {
  Memory memory;
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), two_files_each());
  cut.whole();
  std::vector<JournalRecord> records;
  std::uint64_t all = 0;
  auto chunks = cut.chunks();
  while (const auto chunk = chunks.next()) {
    std::vector<std::byte> bytes(chunk->bytes);
    cut.files().read(*chunk, bytes);
    records.push_back({chunk->card, chunk->array, chunk->elements, cut.sums().of(*chunk, bytes).all});
    all += chunk->bytes;
  }
  const auto kept = [&] {
    cut.make_files(true);
    ContentSums sums(cut.target());
    std::uint64_t bytes = 0;
    check_finished(records, cut.target(), cut.files(), 2, sums, bytes);
    return bytes;
  };
  CHECK(kept() == all);
  const fs::path lost = cut.place() / "mp_01/model";
  std::uint64_t bytes_of_lost = 0;
  for (const auto& [name, bytes] : contents(memory, lost)) bytes_of_lost += bytes.size();
  memory.files->put(lost, "something else");
  CHECK(kept() == all - bytes_of_lost);
}
