#include <string>
#include <vector>

#include "catch.hpp"
#include "diagnosis/draft/counters.hpp"
#include "diagnosis/draft/file_names.hpp"
#include "diagnosis/draft/renames.hpp"
#include "refused.hpp"
#include "tensor/stored_array.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

using Numbers = std::vector<std::uint64_t>;

Mesh mesh(std::vector<std::string> axes, Numbers shape) {
  return {std::move(axes), std::move(shape), {}};
}

/// A name that some of the cards have.
NameFacts stored(const std::string& name, const Numbers& on, std::size_t cards) {
  static const StoredArray array{"w", *number_type("f32"), {4}, std::nullopt, false};
  NameFacts facts{name, name, std::vector<drafting::Piece>(cards), false};
  for (const auto card : on) facts.pieces[card] = {&array, card};
  return facts;
}

struct Entry {
  std::string in;
  std::vector<Axis> axes;
  std::uint64_t total;
  Numbers counts;
  std::uint64_t chunks;
  bool is_local;
  friend bool operator==(const Entry&, const Entry&) = default;
};

std::vector<Entry> entries(const std::vector<NameFacts>& facts, const std::vector<std::string>& expected,
                           const Mesh& on) {
  std::vector<Entry> all;
  for (const Counter& counter : counters(facts, expected))
    for (const IndexRule& rule : index_candidates(counter, on))
      all.push_back({rule.in.text(), rule.axes, rule.total.value_or(0), rule.counts, rule.virtual_chunks,
                     rule.numbering == Numbering::local});
  return all;
}

}  // namespace

TEST_CASE("a number that varies in the files' names is the card's id") {
  const FileNames padded = read_file_names({"step5/rank_000.h5", "step5/rank_001.h5"}, std::nullopt);
  CHECK(padded.files == "step5/rank_{card:03}.h5");
  CHECK(padded.mesh == mesh({"card"}, {2}));
  const FileNames offset = read_file_names({"d8.h5", "d9.h5", "d10.h5", "d11.h5"}, mesh({"dp", "tp"}, {2, 2}));
  CHECK(offset.files == "d{card}.h5");
  CHECK(offset.mesh.cards == Numbers{8, 9, 10, 11});
  CHECK(read_file_names({"one.h5"}, std::nullopt).mesh.size() == 1);
}

TEST_CASE("one number for fewer files than cards is an axis along which the others share them") {
  const FileNames shared = read_file_names({"mp_rank_00.h5", "mp_rank_01.h5"}, mesh({"dp", "tp"}, {3, 2}));
  CHECK(shared.files == "mp_rank_{tp:02}.h5");
  CHECK(fixture::refused([] {
          read_file_names({"r0.h5", "r1.h5", "r2.h5"}, mesh({"dp"}, {4}));
        }).find("number 3 cards") != std::string::npos);
}

TEST_CASE("several numbers are coordinates, told apart by their sizes, or by the words before them") {
  const std::vector<std::string> names{"dp_0_mp_00.h5", "dp_0_mp_01.h5", "dp_1_mp_00.h5",
                                       "dp_1_mp_01.h5", "dp_2_mp_00.h5", "dp_2_mp_01.h5"};
  CHECK(read_file_names(names, mesh({"tp", "data"}, {2, 3})).files == "dp_{data}_mp_{tp:02}.h5");
  CHECK(read_file_names(names, std::nullopt).mesh == mesh({"a0", "a1"}, {3, 2}));
  const std::vector<std::string> square{"tp0.dp0", "tp0.dp1", "tp1.dp0", "tp1.dp1"};
  CHECK(read_file_names(square, mesh({"dp", "tp"}, {2, 2})).files == "tp{tp}.dp{dp}");
  CHECK_THROWS_AS(read_file_names(square, mesh({"a", "b"}, {2, 2})), Error);
  CHECK_THROWS_AS(read_file_names({"tp0.dp0", "tp0.dp1", "tp1.dp0"}, std::nullopt), Error);
  CHECK_THROWS_AS(read_file_names({"model_0.h5", "optim_0.h5"}, std::nullopt), Error);
}

TEST_CASE("names with numbers of their own on each stage are counted globally, in blocks of any sizes") {
  const std::vector<NameFacts> even{stored("m.layer_0.w", {0}, 4), stored("m.layer_1.w", {0}, 4),
                                    stored("m.layer_2.w", {2}, 4), stored("m.layer_3.w", {2}, 4)};
  CHECK(entries(even, {}, mesh({"pp", "dp"}, {2, 2})).empty());  // not on every card of a stage
  const std::vector<NameFacts> all{stored("m.layer_0.w", {0, 1}, 4), stored("m.layer_1.w", {2, 3}, 4),
                                   stored("m.layer_2.w", {2, 3}, 4)};
  CHECK(entries(all, {}, mesh({"pp", "dp"}, {2, 2})) ==
        std::vector<Entry>{{"m.layer_{i}.*", {0}, 3, {1, 2}, 1, false}});
  CHECK(entries({stored("layers.0.w", {0, 1}, 2), stored("layers.1.w", {0, 1}, 2)}, {}, mesh({"dp"}, {2})).empty());
}

TEST_CASE("names that count anew on each stage have candidates, which the number of expected ones allows") {
  std::vector<NameFacts> facts;
  std::vector<std::string> expected;
  for (const char* prefix : {"", "optim.m."})
    for (int i = 0; i < 2; ++i)
      facts.push_back(stored(prefix + std::string("layers.") + std::to_string(i) + ".w", {0, 1, 2, 3}, 4));
  for (int i = 0; i < 4; ++i) expected.push_back("layers." + std::to_string(i) + ".w");
  // Over either axis, and in one chunk or two; the moments follow although they are not expected.
  CHECK(entries(facts, expected, mesh({"pp", "dp"}, {2, 2})) ==
        std::vector<Entry>{{"*layers.{i}.*", {0}, 4, {}, 1, true},
                           {"*layers.{i}.*", {0}, 4, {}, 2, true},
                           {"*layers.{i}.*", {1}, 4, {}, 1, true},
                           {"*layers.{i}.*", {1}, 4, {}, 2, true}});
  CHECK(counters(facts, expected).size() == 1);
  expected.emplace_back("layers.9.w");
  CHECK(entries(facts, expected, mesh({"pp", "dp"}, {2, 2})).empty());
}

TEST_CASE("components that a wrapper has put into names are renamed away, and nothing else") {
  const auto shown = [](const std::vector<Rename>& renames) {
    std::vector<std::string> texts;
    for (const Rename& rename : renames) texts.push_back(rename.stored.text() + " -> " + rename.name.text());
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(shown(find_renames({"model.module.a.w", "model.module.b.w", "step"}, {"model.a.w", "model.b.w", "step"})) ==
        Texts{"model.module.{x} -> model.{x}"});
  CHECK(shown(find_renames({"module.a.w", "module.b.w", "step"}, {"a.w", "b.w"})) ==
        Texts{"module.a.{x} -> a.{x}", "module.b.{x} -> b.{x}"});
  CHECK(find_renames({"a.w", "x.w"}, {"a.w", "b.w"}).empty());
  CHECK(shown(find_renames({"layers/0/w", "norm/w", "step"}, {"layers.0.w", "norm.w", "step"})) ==
        Texts{"{a}/{b}/{c} -> {a}.{b}.{c}", "{a}/{b} -> {a}.{b}"});
  CHECK(find_renames({"layers/0/w", "a.b"}, {"layers.0.w", "a.b"}).empty());  // the way back would make a/b of a.b
  CHECK(find_renames({"module.a.w", "a.w"}, {"a.w"}).empty());                // two arrays would get one name
}
