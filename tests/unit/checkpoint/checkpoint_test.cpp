#include "checkpoint/checkpoint.hpp"

#include "catch.hpp"
#include "unit/memory_checkpoint.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::string refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::input);
    return error.what();
  }
  return "";
}

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
  CHECK_THAT(refused([&] { memory.open("/elsewhere", four_cards()); }), Contains("/elsewhere: no such file"));
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

TEST_CASE("a card holds what its files hold, by their names with the prefixes") {
  Memory memory;
  make_whole(memory, "/in/whole");
  Move cut(memory, "/in/whole", single_card(), two_files_each());
  cut.whole();
  const Checkpoint checkpoint = memory.open(cut.place(), two_files_each());
  REQUIRE(checkpoint.files().size() == 6);
  CHECK(checkpoint.file_name(0) == "mp_00/model");
  CHECK(checkpoint.file_name(5) == "mp_01/optim_1");
  const auto held_by = [&](Position card) {
    std::vector<std::string> names;
    for (const StoredArray& array : *checkpoint.holdings()[card]) names.push_back(array.name);
    return names;
  };
  CHECK(held_by(2) == std::vector<std::string>{"c", "empty", "model/a", "model/b", "notes", "step"});
  CHECK(held_by(3) == std::vector<std::string>{"c", "empty", "notes", "step"});
  CHECK(checkpoint.place(2, "model/a") == "mp_01/model: /a");
  REQUIRE(checkpoint.find(2, "model/a") != nullptr);
  CHECK(checkpoint.find(2, "model/a")->attributes == std::vector<Attribute>{{"unit", text_value("m")}});
  CHECK(checkpoint.find(2, "model/c") == nullptr);
  CHECK(checkpoint.own_cards(1, 2) == std::vector<Position>{1, 3});
  CHECK(checkpoint.own_files(0, 2) == std::vector<FileNumber>{0, 2, 1, 4});
}

TEST_CASE("a file may be missing where its card holds nothing in it") {
  Memory memory;
  make_whole(memory, "/in/whole");
  const auto remove = [&](const fs::path& place, const std::string& name) { memory.files->remove(place / name); };
  Move cut(memory, "/in/whole", single_card(), two_files_each());
  cut.whole();
  remove(cut.place(), "mp_01/model");
  const Checkpoint checkpoint = memory.open(cut.place(), two_files_each());
  CHECK(checkpoint.missing() == std::vector<FileNumber>{1});
  CHECK_THAT(refused([&] { resolve(checkpoint); }), Contains("mp_01/model: /a") && Contains("is missing") &&
                                                        Contains("this file that the layout names is not there: "
                                                                 "mp_01/model"));
  remove(cut.place(), "mp_00/model");
  CHECK_THAT(refused([&] { memory.open(cut.place(), two_files_each()); }), Contains("mp_00/model: no such file"));

  const Layout first_only = fixture::layout(
      R"(["tp", "dp"])", "[2, 2]",
      R"("files": [{"path": "model_{tp}", "prefix": "model/"}, {"path": "optim_{tp}_{dp}"}],
         "rename": [{"stored": "model/a", "name": "a"}],
         "parameters": [{"name": "a", "at": {"tp": 0}}], "default": "replicate")");
  Move stage(memory, "/in/whole", single_card(), first_only);
  stage.whole();
  remove(stage.place(), "model_1");
  const Resolved resolved = resolve(memory.open(stage.place(), first_only));
  CHECK(resolved.placement.tensors().size() == 6);
  REQUIRE(resolved.warnings.size() == 1);
  CHECK_THAT(resolved.warnings.front(), Contains("not there: model_1; by what is in the others they would hold nothing"));
  remove(stage.place(), "optim_0_1");
  CHECK_THAT(refused([&] { memory.open(stage.place(), first_only); }), Contains("optim_0_1: no such file"));
}
