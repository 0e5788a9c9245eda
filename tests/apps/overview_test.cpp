#include "inspect/overview.hpp"

#include <numeric>
#include <set>

#include "catch.hpp"
#include "inspect/name_ranges.hpp"
#include "report/state_names.hpp"

using namespace ckpt;
using namespace ckpt::cli;

namespace {

using Words = std::vector<std::string>;

Words texts(const Words& names) {
  Words texts;
  for (const NameRange& range : name_ranges(names)) texts.push_back(range.text);
  return texts;
}

OverviewEntry entry(const std::string& name, const std::string& dtype, const std::string& shape, std::uint64_t bytes) {
  return {name, dtype, shape, "", "", bytes};
}

/// "model.layers.{0-1}.w: 2 of 16 bytes", state marked with a plus.
Words rows(const std::vector<OverviewEntry>& entries) {
  Words rows;
  for (const OverviewRow& row : overview_of(entries).rows)
    rows.push_back((row.is_state ? "+" : "") + row.each.name + ": " + std::to_string(row.tensors) + " of " +
                   std::to_string(row.each.bytes) + " bytes");
  return rows;
}

}  // namespace

TEST_CASE("names that differ in numbers become one range") {
  CHECK(texts({"layers.0.w", "layers.1.w", "layers.2.w", "norm"}) == Words{"layers.{0-2}.w", "norm"});
  CHECK(texts({"w1", "w3"}) == Words{"w{1,3}"});
  CHECK(texts({"x.0", "x.2", "x.4", "x.9"}) == Words{"x.{0-4:2,9}"});
  CHECK(texts({"one"}) == Words{"one"});
  CHECK(texts({}).empty());
}

TEST_CASE("a range stands for exactly its names") {
  // Layer 0 has no experts 2 and 3: the full product would claim names that are not there.
  CHECK(texts({"l.0.e.0", "l.0.e.1", "l.1.e.0", "l.1.e.1", "l.1.e.2", "l.1.e.3", "l.2.e.0", "l.2.e.1", "l.2.e.2",
               "l.2.e.3"}) == Words{"l.0.e.{0-1}", "l.{1-2}.e.{0-3}"});
  std::set<std::size_t> seen;
  for (const NameRange& range : name_ranges({"a.0.0", "a.1.1", "a.0.1", "b"}))
    for (const std::size_t member : range.members) CHECK(seen.insert(member).second);
  CHECK(seen.size() == 4);
}

TEST_CASE("numbers that a range would change stay as text") {
  CHECK(texts({"part_00", "part_01"}) == Words{"part_00", "part_01"});
  CHECK(texts({"x99999999999999999999", "x99999999999999999998"}).size() == 2);
}

TEST_CASE("a name of very many numbers is no trouble") {
  std::string many = "0";
  for (int i = 0; i < 50000; ++i) many += ".1";
  CHECK(texts({many, many + ".2"}).size() == 2);
}

TEST_CASE("rows of an overview are cut alike, and the optimizer's state comes last") {
  const std::vector<OverviewEntry> entries{entry("model.embed.w", "bf16", "[9, 2]", 36),
                                           entry("model.layers.0.w", "bf16", "[2, 2]", 8),
                                           entry("model.layers.1.w", "bf16", "[2, 2]", 8),
                                           entry("model.layers.2.w", "bf16", "[4, 2]", 16),
                                           entry("optim.state.layers.0.w.exp_avg", "f32", "[2, 2]", 16),
                                           entry("optim.state.layers.0.w.exp_avg_sq", "f32", "[2, 2]", 16),
                                           entry("optim.state.layers.1.w.exp_avg", "f32", "[2, 2]", 16),
                                           entry("optim.state.layers.1.w.exp_avg_sq", "f32", "[2, 2]", 16),
                                           entry("optim.state.layers.1.w.step", "f32", "[]", 4)};
  CHECK(rows(entries) == Words{"model.embed.w: 1 of 36 bytes", "model.layers.{0-1}.w: 2 of 16 bytes",
                               "model.layers.2.w: 1 of 16 bytes",
                               "+optim.state.layers.{0-1}.w.{exp_avg,exp_avg_sq}: 4 of 64 bytes",
                               "+optim.state.layers.1.w.step: 1 of 4 bytes"});
  const Overview overview = overview_of(entries);
  CHECK(overview.state.tensors == 5);
  CHECK(overview.state.bytes == 68);
  CHECK(overview.state_words == Words{"exp_avg", "exp_avg_sq"});
  REQUIRE(overview.dtypes.size() == 2);
  CHECK(overview.dtypes[0].name == "f32");
  CHECK(overview.dtypes[0].bytes == 68);
}

TEST_CASE("moments of one kind that are cut in another way have a row of their own") {
  CHECK(rows({entry("m.a.0", "f32", "[2]", 8), entry("m.a.1", "f32", "[2]", 8), entry("v.a.0", "f32", "[2]", 8),
              entry("v.a.1", "f32", "[3]", 12)}) ==
        Words{"+{m,v}.a.0: 2 of 16 bytes", "+m.a.1: 1 of 8 bytes", "+v.a.1: 1 of 12 bytes"});
}

TEST_CASE("prefixes are what follows the words that all names share") {
  const auto prefixes = [](const std::vector<OverviewEntry>& entries) {
    Words words;
    for (const OverviewShare& share : overview_of(entries).prefixes)
      words.push_back(share.name + " " + std::to_string(share.tensors));
    return words;
  };
  CHECK(prefixes({entry("model.a.x", "f32", "[]", 4), entry("model.b.x", "f32", "[]", 4),
                  entry("optim.a", "f32", "[]", 4), entry("step", "i64", "[]", 8)}) ==
        Words{"model.* 2", "optim.* 1", "step 1"});
  CHECK(prefixes({entry("module/layers.0.w", "f32", "[]", 4), entry("module/layers.1.w", "f32", "[]", 4),
                  entry("module/norm", "f32", "[]", 4)}) == Words{"module/layers.* 2", "module/norm 1"});
  CHECK(prefixes({entry("0.w", "f32", "[]", 4), entry("1.w", "f32", "[]", 4), entry("1.b", "f32", "[]", 4)}) ==
        Words{"{0-1}.* 3"});
  CHECK(prefixes({entry("momentum", "f32", "[]", 4)}) == Words{"momentum 1"});
  CHECK(overview_of({}).rows.empty());
}

TEST_CASE("Globs for --drop match what is optimizer state beyond doubt and nothing else, or there are none") {
  using Texts = std::vector<std::string>;
  const auto globs = [](const Texts& names, std::size_t limit) {
    return state_patterns(names, sure_states(names), limit);
  };
  CHECK(globs({"model.w", "optim.state.w.exp_avg", "optim.state.w.exp_avg_sq"}, 4) == Texts{"optim.*"});
  CHECK(globs({"w", "m.w", "v.w"}, 4) == Texts{"m.*", "v.*"});
  CHECK(globs({"dense/kernel", "dense/kernel/Adam", "dense/kernel/Adam_1"}, 4) == Texts{"*/Adam", "*/Adam_1"});
  CHECK(globs({"x.w", "x.exp_avg.w"}, 4) == Texts{"*.exp_avg.*"});
  CHECK(globs({"w"}, 4).empty());
  CHECK(globs({"w", "m.w", "v.w"}, 1).empty());
  // Modules that are called as states are.
  CHECK(globs({"layers.0.linear.weight", "layers.0.norm.weight"}, 4).empty());
  CHECK(globs({"mm.0.weight", "v.blk.0.weight", "opt.decoder.w", "n.master.w", "momentum.w"}, 4).empty());
  CHECK(globs({"encoder.linear.weight", "optim.state.encoder.linear.weight.exp_avg"}, 4) == Texts{"optim.*"});
}
