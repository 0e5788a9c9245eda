#include "exchange/copy_table.hpp"

#include "base/buffer.hpp"
#include "catch.hpp"
#include "host_grid.hpp"
#include "random_copies.hpp"

using namespace ckpt;

namespace {

/// A block of distinct bytes with room for a table after it.
Buffer filled_block(std::uint64_t bytes, std::uint64_t seed) {
  Buffer block(bytes);
  std::mt19937_64 engine(seed);
  for (std::uint64_t i = 0; i < bytes; ++i) block.data()[i] = static_cast<std::byte>(engine());
  return block;
}

/// Performs the copies in one block by way of a table and in another one after the other: the blocks must be the same.
void check(const std::vector<PlacedCopy>& copies, std::uint64_t block_bytes, std::uint64_t seed) {
  CopyTable table;
  for (const PlacedCopy& each : copies) table.add(each.copy, each.source, each.target);
  const Buffer block = filled_block(block_bytes, seed);
  const Buffer expected = filled_block(block_bytes, seed);
  for (const PlacedCopy& each : copies) run(each.copy, expected.data() + each.source, expected.data() + each.target);
  const Buffer stored(table.bytes());
  run_on_host(table.store(stored.data(), stored.data()), block.data());
  CAPTURE(seed, copies.size());
  CHECK(std::equal(block.data(), block.data() + block_bytes, expected.data()));
}

/// The table's only copy, as the device sees it.
DeviceCopy only_copy(const StridedCopy& copy, std::uint64_t source, std::uint64_t target) {
  CopyTable table;
  table.add(copy, source, target);
  const Buffer stored(table.bytes());
  const CopyTableView view = table.store(stored.data(), stored.data());
  CHECK(view.words == view.copies[0].words);
  return view.copies[0];
}

}  // namespace

TEST_CASE("a table of random copies does what the copies do one after the other") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomCopies random(seed);
    const std::uint64_t largest = seed % 3 == 0 ? 300 : 30'000;
    const auto copies = random.take(seed % 10 == 0 ? 400'000 : 20'000, largest);
    check(copies, random.block_bytes(), seed);
  }
}

TEST_CASE("a table of nothing does nothing") {
  check({}, 100, 1);
  check({{strided_copy({3, 0}, {1, 1}, {1, 1}, 4), 0, 50}}, 100, 2);
}

TEST_CASE("words are as wide as both ends, the strides and the run allow") {
  const StridedCopy rows = strided_copy({5, 64}, {96, 1}, {64, 1}, 1);
  CHECK(only_copy(rows, 0, 4096).width == 16);
  CHECK(only_copy(rows, 8, 4096).width == 8);
  CHECK(only_copy(rows, 0, 4100).width == 4);
  CHECK(only_copy(rows, 2, 4096).width == 2);
  CHECK(only_copy(rows, 0, 4097).width == 1);
  CHECK(only_copy(strided_copy({5, 64}, {100, 1}, {64, 1}, 1), 0, 4096).width == 4);
  CHECK(only_copy(strided_copy({5, 2}, {96, 1}, {64, 1}, 4), 0, 4096).width == 8);
}

TEST_CASE("copies as large as they may be, and larger") {
  constexpr std::uint64_t gibibyte = 1ULL << 30;
  for (const StridedCopy& copy :
       {strided_copy({5 * gibibyte + 3}, {1}, {1}, 1), strided_copy({9, gibibyte / 2}, {gibibyte, 1}, {gibibyte, 1}, 1),
        strided_copy({2, 3, 2, 5, 2}, {1, 3, 90'000'000'000, 50, 1000}, {500, 900, 10'000, 70'000, 1}, 7)}) {
    CopyTable table;
    table.add(copy, 16, 32);
    const Buffer stored(table.bytes());
    const CopyTableView view = table.store(stored.data(), stored.data());
    std::uint64_t words = 0;
    std::uint64_t bytes = 0;
    for (const DeviceCopy* each = view.copies; words < view.words; ++each) {
      CHECK(each->first == words);
      words += each->words;
      bytes += std::uint64_t{each->words} * each->width;
    }
    CHECK(words == view.words);
    CHECK(bytes == copy.bytes());
  }
}
