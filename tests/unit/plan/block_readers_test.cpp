#include "plan/block_readers.hpp"

#include <numeric>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// w of 64 × 64 elements of 4 bytes, from 8 cards to 4, both cut over the dimensions given.
double readers(const std::string& from, const std::string& to, std::uint32_t processes, std::uint64_t block = 256) {
  const Placement source = target(one_rule(R"(["x"])", "[8]", from), {tensor("w", {64, 64})});
  const Placement wanted = target(one_rule(R"(["x"])", "[4]", to), {tensor("w", {64, 64})});
  const Readers all{source, {}};
  const Planner planner{source, wanted, {0}, all};
  std::vector<std::uint32_t> numbers(processes);
  std::iota(numbers.begin(), numbers.end(), 0);
  return readers_of_block(planner, WriteShares(wanted, processes), numbers, block);
}

const std::string rows = R"("split": ["x"])";
const std::string columns = R"("split": [null, "x"])";

}  // namespace

TEST_CASE("processes that write rows read blocks of their own of sources cut by rows") {
  CHECK(readers(rows, rows, 1) == 1);
  CHECK(readers(rows, rows, 2) == 1);
  CHECK(readers(rows, rows, 4) == 1);
  CHECK(readers(columns, columns, 2) == 1);
}

TEST_CASE("processes that write columns all read each block of sources cut by rows") {
  CHECK(readers(rows, columns, 1) == 1);
  CHECK(readers(rows, columns, 2) == 2);
  CHECK(readers(rows, columns, 4) == 4);
}

TEST_CASE("processes that write rows read columns together where a block has several rows") {
  CHECK(readers(columns, rows, 2, 32) == 1);    // a row of a source card has 32 bytes
  CHECK(readers(columns, rows, 2, 2048) == 2);  // all 64 of them
  CHECK(readers(columns, rows, 4, 1024) == 2);  // 32
}

TEST_CASE("processes that read nothing share no block") {
  const Placement empty = target(one_rule(R"(["x"])", "[8]", rows), {tensor("w", {0, 64})});
  const Readers all{empty, {}};
  const Planner planner{empty, empty, {0}, all};
  const std::vector<std::uint32_t> both{0, 1};
  CHECK(readers_of_block(planner, WriteShares(empty, 2), both, 256) == 1);
}
