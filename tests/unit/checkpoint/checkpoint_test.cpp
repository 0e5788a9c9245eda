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
