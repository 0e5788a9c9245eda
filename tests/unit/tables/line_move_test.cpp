#include "tables/paddle/line_move.hpp"

#include <ctime>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "refused.hpp"
#include "store/paddle/text_input.hpp"
#include "tables/paddle/line_sums.hpp"
#include "tables/paddle/resumable_text.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

const Accessor accessor{AccessorClass::sparse, 2, SgdRule::naive, SgdRule::naive};
using Model = std::map<std::uint64_t, std::string>;  // line by key

Model random_model(std::mt19937_64& random, std::size_t count) {
  Model lines;
  while (lines.size() < count) {
    const std::uint64_t key = random() >> (random() % 64);
    lines[key] = std::to_string(key) + " 1 2 3 4 5 0.50" + (key % 3 ? "" : " 1e0 -0.0") + "\n";
  }
  return lines;
}

std::vector<FileCatalog::Version> versions_of(const std::vector<std::filesystem::path>& files) {
  std::vector<FileCatalog::Version> versions;
  for (const std::filesystem::path& file : files) {
    const PosixFile::Status status = PosixFile::open_for_reading(file).status();
    versions.push_back({status.bytes, status.modified_ns});
  }
  return versions;
}

/// A table's files in a directory of their own.
struct Written {
  Written(const fixture::TemporaryDirectory& directory, const std::string& name, const Model& lines,
          std::uint64_t shards, bool is_gzip)
      : table{"t", 0, RowFields(accessor), {}, {}} {
    for (std::uint64_t shard = 0; shard < shards; ++shard) {
      table.files.push_back(directory / (name + std::to_string(shard) + (is_gzip ? ".gz" : "")));
      TextOutput out(table.files.back(), 100);
      for (const auto& [key, line] : lines)
        if (key % shards == shard) out.append(line);
      out.finish(false);
    }
    look();
  }
  /// Takes the files for those that were found.
  void look() { table.versions = versions_of(table.files); }
  TextTable table;
};

std::string text_of(const std::filesystem::path& file) {
  std::string text;
  read_text(file, 13, [&](std::string_view piece) { text += piece; });
  return text;
}

const LineBuffers small{17, 60, 5, 1};

std::vector<MovedShard> moved(const LineMove& move, const LineBuffers& buffers) {
  std::vector<MovedShard> all;
  Traffic traffic;
  for (std::uint64_t group = 0; group < move.groups.groups(); ++group)
    for (const MovedShard& shard : move_lines(move, group, buffers, false, traffic)) all.push_back(shard);
  return all;
}

LineMove move_to(const fixture::TemporaryDirectory& directory, TextTable source, std::uint64_t shards, bool is_gzip,
                 const std::string& name) {
  LineMove move{std::move(source), Regrouping(1, 1), {}, shards};
  move.groups = Regrouping(move.source.shards(), shards);
  for (std::uint64_t shard = 0; shard < shards; ++shard)
    move.targets.push_back(directory / (name + std::to_string(shard) + (is_gzip ? ".gz" : "")));
  return move;
}

}  // namespace

TEST_CASE("lines go to the shards of any other number, as they are, through gzip or not") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const fixture::TemporaryDirectory directory;
    const Model model = random_model(random, random() % 200);
    const std::uint64_t from = 1 + random() % 12;
    const std::uint64_t to = 1 + random() % 12;
    const bool is_gzip = round % 2 == 0;
    const Written source(directory, "s", model, from, round % 3 == 0);
    const LineMove move = move_to(directory, source.table, to, is_gzip, "t");
    PartialSum expected;
    for (const auto& [key, line] : model) add_line(line, expected);
    PartialSum found;
    const auto shards = moved(move, small);
    REQUIRE(shards.size() == to);
    for (const MovedShard& shard : shards) found += shard.written.lines;
    CHECK(found == expected);
    std::size_t lines = 0;
    for (std::uint64_t shard = 0; shard < to; ++shard) {
      std::istringstream text(text_of(move.targets[shard]));
      for (std::string line; std::getline(text, line); ++lines) {
        const std::uint64_t key = std::stoull(line);
        CHECK(key % to == shard);
        CHECK(model.at(key) == line + "\n");
      }
    }
    CHECK(lines == model.size());
    // Other buffers, the same bytes.
    const LineMove again = move_to(directory, source.table, to, is_gzip, "u");
    const auto other = moved(again, {100'000, 9000, 1000, 1});
    for (std::size_t i = 0; i < other.size(); ++i) CHECK(other[i].written.content == shards[i].written.content);
  }
}

TEST_CASE("a group goes on from every point that it told of, to the same bytes") {
  std::mt19937_64 random(9);
  const fixture::TemporaryDirectory directory;
  const Model model = random_model(random, 400);
  for (const bool is_gzip : {false, true}) {
    const std::string name = is_gzip ? "z" : "p";
    const Written source(directory, name + "s", model, 12, false);
    const LineMove move = move_to(directory, source.table, 5, is_gzip, name + "t");
    std::vector<GroupProgress> told;
    Traffic traffic;
    const auto note = [&](const GroupProgress& progress) { told.push_back(progress); };
    const auto whole = move_lines(move, 0, small, false, traffic, {}, note);
    std::vector<std::string> expected;
    for (const auto& file : move.targets) expected.push_back(text_of(file));
    CHECK(told.size() == (is_gzip ? 1U : 12U));
    CHECK(told.back().sources == 12);
    for (const GroupProgress& progress : told) {
      GroupProgress begun{progress.sources, {}};
      for (std::size_t i = 0; i < move.targets.size(); ++i) {
        const auto left = resumable_text(move.targets[i], progress.written[i].bytes);
        REQUIRE(left);
        CHECK(left->content == progress.written[i].content);
        CHECK(left->lines == progress.written[i].lines);
        begun.written.push_back(*left);
        // Whatever came after that goes.
        if (!is_gzip) std::ofstream(move.targets[i], std::ios::app) << "half a li";
      }
      Traffic again;
      const auto moved_again = move_lines(move, 0, small, true, again, begun);
      CHECK(again.bytes_read < traffic.bytes_read);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(text_of(move.targets[i]) == expected[i]);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CHECK(moved_again[i].written.lines == whole[i].written.lines);
        CHECK(moved_again[i].written.content == whole[i].written.content);
      }
    }
  }
}

TEST_CASE("what is left of a text counts only up to a line's end, and of a compressed one as a whole") {
  const fixture::TemporaryDirectory directory;
  const auto file = directory / "a";
  std::ofstream(file) << "1 2\n3 4\n5";
  PartialSum lines;
  add_lines("1 2\n3 4\n", lines);
  const auto left = resumable_text(file, 8);
  REQUIRE(left);
  CHECK(left->lines == lines);
  CHECK(left->bytes == 8);
  CHECK_FALSE(resumable_text(file, 9));
  CHECK_FALSE(resumable_text(file, 10));
  CHECK_FALSE(resumable_text(directory / "none", 0));
  const auto packed = directory / "a.gz";
  TextOutput out(packed, 100);
  out.append("1 2\n");
  out.append("3 4\n");
  CHECK_FALSE(out.so_far());
  const WrittenText written = out.finish(false);
  CHECK(resumable_text(packed, written.bytes)->lines == lines);
  CHECK_FALSE(resumable_text(packed, written.bytes - 1));
  std::ofstream(packed, std::ios::app) << "x";
  CHECK_FALSE(resumable_text(packed, written.bytes + 1));
}

TEST_CASE("small keys that follow one another are compared as fast as others") {
  const fixture::TemporaryDirectory directory;
  const auto file = directory / "s0";
  std::string text;
  constexpr std::uint64_t keys = 1 << 20;
  for (std::uint64_t key = 0; key < keys; ++key) text += std::to_string(key) + " 1 2 3 4 5 0.5\n";
  std::ofstream(file) << text;
  const LineMove counted{{"t", 0, RowFields(accessor), {file}, versions_of({file})}, Regrouping(1, 1), {}, 1};
  const auto begin = std::clock();
  CHECK(moved(counted, {1 << 20, 1000, keys + 1, 1})[0].written.lines.bytes == keys);
  CHECK(double(std::clock() - begin) / CLOCKS_PER_SEC < 60);  // a square of them is hours
}

TEST_CASE("a key that stands twice is found, however few keys are kept") {
  std::mt19937_64 random(8);
  const fixture::TemporaryDirectory directory;
  const Model model = random_model(random, 300);
  for (const std::uint64_t most : {1, 7, 100, 1000}) {
    const std::string name = "s" + std::to_string(most) + "_";
    const Written source(directory, name, model, 1, false);
    const LineMove counted{source.table, Regrouping(1, 1), {}, 1};
    CHECK(moved(counted, {1000, 1000, most, 1})[0].written.lines.bytes == 300);
    const auto& [key, line] = *std::next(model.begin(), 100 + static_cast<std::ptrdiff_t>(most) % 77);
    std::ofstream(source.table.files[0], std::ios::app) << line;
    const auto message_of = [&](const LineMove& move) {
      return fixture::refused([&] { moved(move, {1000, 1000, most, 1}); });
    };
    CHECK_THAT(message_of(counted), Contains("it is not the file that was found there"));
    TextTable found = source.table;
    found.versions = versions_of(found.files);
    const std::string message = message_of({found, Regrouping(1, 1), {}, 1});
    CHECK_THAT(message, Contains("key " + std::to_string(key) + " stands in line "));
    CHECK_THAT(message, Contains(" and in line 301"));
  }
}

TEST_CASE("sums of lines tell apart sets of lines, not their order") {
  PartialSum a;
  add_lines("1 2\n3 4\n", a);
  PartialSum b;
  add_lines("3 4\n1 2\n", b);
  CHECK(a == b);
  PartialSum damaged;
  add_lines("1 2\n3 4", damaged);  // a newline that is one no more is found, too
  CHECK_FALSE(a == damaged);
  for (const char* other : {"1 2\n3 5\n", "1 4\n3 2\n", "1 2\n1 2\n", "1 2\n", "1 2 3 4\n", ""}) {
    PartialSum c;
    add_lines(other, c);
    CHECK_FALSE(a == c);
  }
  // Lines beyond the keys that are kept.
  const std::string line(10'000, 'x');
  for (const std::size_t at : {0, 4095, 4096, 9999}) {
    std::string changed = line;
    changed[at] = 'y';
    PartialSum one;
    add_line(line, one);
    PartialSum two;
    add_line(changed, two);
    CHECK(one.low != two.low);
    CHECK(one.high != two.high);
  }
}

TEST_CASE("what is no whole gzip is refused") {
  const fixture::TemporaryDirectory directory;
  const auto file = directory / "a.gz";
  TextOutput out(file, 100);
  out.append("1 2 3\n");
  out.finish(false);
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto with = [&](const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
    return fixture::refused([&] { text_of(file); });
  };
  CHECK(with(bytes).empty());
  CHECK(with(bytes + bytes).empty());  // as zcat
  CHECK(text_of(file) == "1 2 3\n1 2 3\n");
  CHECK_THAT(with(bytes.substr(0, bytes.size() - 1)), Contains("the file ends within its compressed text"));
  CHECK_THAT(with(""), Contains("the file ends within its compressed text"));
  CHECK_THAT(with("1 2 3\n"), Contains("gzip: incorrect header check"));
  std::string damaged = bytes;
  damaged[damaged.size() - 8] ^= 1;  // of the checksum
  CHECK_THAT(with(damaged), Contains("gzip: incorrect data check"));
}

TEST_CASE("groups are written together as far as memory and open files allow") {
  CHECK(line_buffers(512 << 20, 4, 10, false, 1000).threads == 4);
  CHECK(line_buffers(512 << 20, 4, 300, false, 1000).threads == 3);
  CHECK(line_buffers(8 << 20, 8, 1000, false, 100'000).threads == 1);
  CHECK_THAT(fixture::refused([] { line_buffers(512 << 20, 1, 1001, false, 1000); }, Kind::usage),
             Contains("1001 files have to be written together"));
  CHECK_THAT(fixture::refused([] { line_buffers(8 << 20, 1, 1000, true, 100'000); }, Kind::usage),
             Contains("give more, or choose a shard_num"));
}
