#include "proof/parallel_reads.hpp"

#include <mutex>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

constexpr int count = 1000;

/// What was asked for ahead of reading it, of items that are numbers; those from `cold` on are not in memory.
std::set<int> announced(int cold, unsigned threads) {
  std::vector<int> items(count);
  std::iota(items.begin(), items.end(), 0);
  std::mutex mutex;
  std::set<int> asked;
  const auto results = read_each(
      items, threads,
      [&](int item) {
        const std::lock_guard lock(mutex);
        asked.insert(item);
        return item < cold;
      },
      [](int item) { return 3 * item; });
  REQUIRE(results.size() == items.size());
  for (const int item : items) CHECK(results[static_cast<std::size_t>(item)] == 3 * item);
  return asked;
}

}  // namespace

TEST_CASE("Where nothing is in memory, all is asked for before it is read") {
  const unsigned threads = GENERATE(1U, 3U);
  CHECK(announced(0, threads).size() == count);
}

TEST_CASE("Where all is in memory, few items are asked about") {
  const unsigned threads = GENERATE(1U, 3U);
  const auto asked = announced(count, threads);
  CHECK(asked.size() >= count / 20);
  CHECK(asked.size() <= count / 10);
}

TEST_CASE("From the first that is not in memory on, all is asked for") {
  const auto asked = announced(500, 1);
  for (int item = 520; item < count; ++item) CHECK(asked.contains(item));
  CHECK(asked.size() <= count / 2 + 50);
}

TEST_CASE("Nothing is asked for where there is nothing to read") {
  const std::vector<int> none;
  const auto fail = [](int) -> bool { throw Error(Kind::io, "an item", {"is there", "none", ""}); };
  CHECK(read_each(none, 2, fail, fail).empty());
}
