#include "plan/planner.hpp"

#include <functional>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// Source: rows of w over 4 cards. Target: columns over 2.
struct RowsToColumns {
  Placement source = target(one_rule(R"(["x"])", "[4]", R"("split": ["x"])"), {tensor("w", {8, 6})});
  Placement wanted = target(one_rule(R"(["x"])", "[2]", R"("split": [null, "x"])"), {tensor("w", {8, 6})});
  Readers readers{source, {}};
  Planner planner{source, wanted, {0}, readers};
};

std::vector<Transfer> transfers(const Planner& planner, const Chunk& chunk, std::uint32_t writer = 0) {
  std::vector<Transfer> found;
  planner.for_each_transfer(chunk, writer, [&](const Transfer& transfer) { found.push_back(transfer); });
  return found;
}

}  // namespace

TEST_CASE("a chunk's transfers are one strided copy from each card that has a part") {
  const RowsToColumns plan;
  const auto found = transfers(plan.planner, {1, 0, {0, 24}, 96});
  REQUIRE(found.size() == 4);
  for (std::uint64_t card = 0; card < 4; ++card) {
    CAPTURE(card);
    CHECK(found[card].card == card);
    CHECK(found[card].source.offset == 3);                 // columns 3 to 5 of each row
    CHECK(found[card].target_offset == card * 2 * 3 * 4);  // two rows of three
    const StridedCopy copy = found[card].copy();
    CHECK(copy.run == 12);
    CHECK(copy.depth == 1);
    CHECK(copy.loops[0].count == 2);
    CHECK(copy.loops[0].source_stride == 24);
    CHECK(copy.loops[0].target_stride == 12);
  }
}

TEST_CASE("a chunk asks only those that it needs") {
  const RowsToColumns plan;
  const auto found = transfers(plan.planner, {0, 0, {9, 15}, 24});  // rows 3 and 4
  REQUIRE(found.size() == 2);
  CHECK(found[0].card == 1);
  CHECK(found[0].source.offset == 6);  // its second row
  CHECK(found[0].target_offset == 0);
  CHECK(found[1].card == 2);
  CHECK(found[1].target_offset == 3 * 4);  // counted from the chunk's start
}

TEST_CASE("what a plan fills is less than the chunk where there is padding") {
  const Placement source = target(single_card(), {tensor("w", {5})});
  const Placement padded =
      target(one_rule(R"(["x"])", "[2]", R"("split": ["x"], "pad": {"0": {"size": 5, "multiple_of": 4}})"),
             {tensor("w", {5})});
  const Readers readers(source, {});
  const Planner planner(source, padded, {0}, readers);
  CHECK(planner.for_each_transfer({0, 0, {0, 4}, 16}, 0, [](const Transfer&) {}) == 16);
  CHECK(planner.for_each_transfer({1, 0, {0, 4}, 16}, 0, [](const Transfer&) {}) == 4);
  CHECK(planner.for_each_transfer({1, 0, {1, 4}, 12}, 0, [](const Transfer&) {}) == 0);
}

TEST_CASE("a parameter may come from one of another name") {
  const Placement source = target(single_card(), {tensor("a", {2}), tensor("z", {3})});
  const Placement renamed = target(single_card(), {tensor("b", {3})});
  const Readers readers(source, {});
  const Planner planner(source, renamed, {1}, readers);
  CHECK(planner.source_of(0) == 1);
  const auto found = transfers(planner, {0, 0, {0, 3}, 12});
  REQUIRE(found.size() == 1);
  CHECK(source.arrays()[found[0].array].name == "z");
}

TEST_CASE("planning a chunk costs what it is made of, not the number of cards") {
  // 405 B parameters' worth of cards; only one chunk is looked at.
  const Placement source =
      target(one_rule(R"(["x"])", "[16384]", R"("split": ["x"])"), {tensor("w", {16384 * 3, 53248})});
  const Placement wanted =
      target(one_rule(R"(["x"])", "[12288]", R"("split": ["x"])"), {tensor("w", {16384 * 3, 53248})});
  const Readers readers(source, {});
  const Planner planner(source, wanted, {0}, readers);
  const auto found = transfers(planner, {12287, 0, {0, 4ULL * 53248}, 4ULL * 53248 * 4});
  CHECK(found.size() == 2);
  CHECK(found.front().card == 16382);
  CHECK(found.back().card == 16383);
}
