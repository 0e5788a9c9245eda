#include "checkpoint/checkpoint.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/memory_checkpoint.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// A directory of four cards' files.
struct FourFiles : Memory {
  FourFiles() {
    for (Position card = 0; card < 4; ++card)
      make_whole(*this, fs::path("/in") / four_cards().files.path(four_cards().mesh, card));
  }
};

}  // namespace

TEST_CASE("a checkpoint is what its store says, wherever that keeps it") {
  FourFiles memory;
  const Checkpoint checkpoint = memory.open("/in", four_cards());
  REQUIRE(checkpoint.files().size() == 4);
  CHECK(checkpoint.is_shared());
  for (Position card = 0; card < 4; ++card) {
    CHECK(checkpoint.file(card).bytes == memory.files->find(checkpoint.file_path(card))->bytes().size());
    CHECK(checkpoint.file(card).schema->arrays->size() == 6);
  }
  CHECK(checkpoint.own_cards(1, 3) == std::vector<Position>{1});
  CHECK(checkpoint.own_cards(0, 3) == std::vector<Position>{0, 3});
}

TEST_CASE("a file that is missing, damaged or changed is named") {
  FourFiles memory;
  const Checkpoint checkpoint = memory.open("/in", four_cards());
  CHECK_THAT(refused([&] { memory.open("/elsewhere", four_cards()); }, Kind::usage),
             Contains("/elsewhere: no such file"));
  const Layout more = fixture::layout(R"(["x"])", "[5]", R"("default": "replicate")");
  CHECK_THAT(refused([&] { memory.open("/in", more); }), Contains(checkpoint.file_name(4 - 1).replace(5, 1, "4")));

  CHECK(refused([&] { checkpoint.check_unchanged(memory.stores.reading(), 2); }).empty());
  const std::string bytes = memory.files->find(checkpoint.file_path(2))->bytes();
  memory.files->put(checkpoint.file_path(2), bytes);  // the same, written once more
  CHECK_THAT(refused([&] { checkpoint.check_unchanged(memory.stores.reading(), 2); }),
             Contains(checkpoint.file_name(2) + ": it was changed while it was read"));

  memory.files->put(checkpoint.file_path(2), bytes.substr(0, bytes.size() - 1));
  CHECK_THAT(refused([&] { memory.open("/in", four_cards()); }), Contains(checkpoint.file_name(2)));
}

namespace {

/// A directory of files with arrays of f32, all zeros.
struct Directory : Memory {
  void add(const std::string& name, const std::map<std::string, Shape>& arrays) {
    FileSpec spec;
    for (const auto& [array, shape] : arrays)
      spec.arrays.push_back({array, *number_type("f32"), shape, {}, std::nullopt, std::nullopt});
    stores.named("memory").create(fs::path("/in") / name, spec);
  }
  void remove(const std::string& name) { files->remove(fs::path("/in") / name); }
};

/// Two of tp by two of dp: `w` and `b` shared along dp, and a moment of each card.
struct Directories : Directory {
  Directories() {
    for (const std::string tp : {"0", "1"}) {
      add("mp_0" + tp + "/model", {{"w", {2, 3}}, {"b", {7}}});
      for (const std::string dp : {"0", "1"}) add("mp_0" + tp + "/optim_" + dp, {{"w", {3}}});
    }
  }
  Layout layout = fixture::layout(
      R"(["tp", "dp"])", "[2, 2]",
      R"("files": [{"path": "mp_{tp:02}/model", "prefix": "model/"}, {"path": "mp_{tp:02}/optim_{dp}", "prefix": "optim."}],
         "parameters": [{"name": "model/w", "split": ["tp"]},
                        {"name": "optim.w", "split": ["tp"], "flat": {"axis": "dp"}, "shape": [4, 3]}],
         "default": "replicate")");
};

}  // namespace

TEST_CASE("a card holds what its files hold, by their names with the prefixes") {
  Directories memory;
  const Checkpoint checkpoint = memory.open("/in", memory.layout);
  REQUIRE(checkpoint.files().size() == 6);
  CHECK(checkpoint.file_name(0) == "mp_00/model");
  CHECK(checkpoint.file_name(5) == "mp_01/optim_1");
  const auto card_arrays = checkpoint.card_arrays();
  const auto held_by = [&](Position card) {
    std::vector<std::string> names;
    for (const StoredArray& array : *card_arrays[card]) names.push_back(array.name);
    return names;
  };
  CHECK(held_by(2) == std::vector<std::string>{"model/b", "model/w", "optim.w"});
  CHECK(held_by(3) == std::vector<std::string>{"optim.w"});
  CHECK(checkpoint.place(2, "model/w") == "mp_01/model: /w");
  CHECK(checkpoint.find(2, "model/w") != nullptr);
  CHECK(checkpoint.find(2, "model/x") == nullptr);
  CHECK(checkpoint.own_cards(1, 2) == std::vector<Position>{1, 3});
  CHECK(checkpoint.own_files(0, 2) == std::vector<FileNumber>{0, 2, 1, 4});
  CHECK(resolve(checkpoint).warnings.empty());
}

TEST_CASE("a file that something is needed of must be there") {
  Directories memory;
  memory.remove("mp_01/model");
  const Checkpoint checkpoint = memory.open("/in", memory.layout);
  CHECK(checkpoint.missing() == std::vector<FileNumber>{1});
  CHECK_THAT(refused([&] { resolve(checkpoint); }),
             Contains("mp_01/model: /") && Contains("is missing") &&
                 Contains("this file that the layout names is not there: mp_01/model"));
  memory.remove("mp_00/model");  // all of the entry
  CHECK_THAT(refused([&] { memory.open("/in", memory.layout); }), Contains("mp_00/model: no such file"));
}

TEST_CASE("a file of which nothing is needed may be missing, but not all of a card's") {
  Directory memory;
  memory.add("model_0", {{"w", {2, 3}}});
  for (const std::string tp : {"0", "1"}) memory.add("optim_" + tp, {{"w", {3}}});
  const Layout of = fixture::layout(
      R"(["tp"])", "[2]",
      R"("files": [{"path": "model_{tp}", "prefix": "model/"}, {"path": "optim_{tp}", "prefix": "optim/"}],
         "parameters": [{"name": "model/*", "at": {"tp": 0}}], "default": "replicate")");
  const Resolved resolved = resolve(memory.open("/in", of));
  CHECK(resolved.placement.tensors().size() == 2);
  REQUIRE(resolved.warnings.size() == 1);
  CHECK_THAT(resolved.warnings.front(),
             Contains("is not there: model_1; by what is in the others they would hold nothing"));
  memory.remove("optim_1");
  CHECK_THAT(refused([&] { memory.open("/in", of); }), Contains("model_1: no such file"));
}

TEST_CASE("a stage's file may be missing where no name in it is one that the stages count") {
  const auto files = [](Directory& memory, const std::string& counted) {
    for (const std::string pp : {"0", "1"}) memory.add("model_" + pp, {{"layers.0.w", {3}}});
    memory.add("optim_0", {{"layers.0.m", {3}}});  // the second stage is frozen
    return memory.open("/in", fixture::layout(R"(["pp"])", "[2]",
                                              R"("files": [{"path": "model_{pp}", "prefix": "model/"},
                                                           {"path": "optim_{pp}", "prefix": "optim/"}],
                                                 "indices": [{"in": ")" +
                                                  counted +
                                                  R"(layers.{i}.*", "axis": "pp", "numbering": "local"}],
                                                 "parameters": [{"name": "optim/*", "at": {"pp": 0}}],
                                                 "default": "replicate")"));
  };
  Directory memory;
  const Resolved resolved = resolve(files(memory, "model/"));
  CHECK(resolved.placement.find("model/layers.1.w"));
  CHECK(resolved.placement.find("optim/layers.0.m"));
  CHECK_THAT(refused([&] { resolve(files(memory, "*")); }),
             Contains("optim_1: no such file, and it may hold what no other"));
}
