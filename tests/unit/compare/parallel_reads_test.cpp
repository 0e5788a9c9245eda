#include "compare/parallel_reads.hpp"

#include <functional>
#include <mutex>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

constexpr int count = 1000;

/// What was asked for ahead of reading it, of items that are numbers.
std::set<int> announced(const std::function<bool(int)>& is_there, unsigned threads) {
  std::vector<int> items(count);
  std::iota(items.begin(), items.end(), 0);
  std::mutex mutex;
  std::set<int> asked;
  const auto results = read_each(
      items, threads,
      [&](int item) {
        const std::lock_guard lock(mutex);
        asked.insert(item);
        return is_there(item);
      },
      [](int item) { return 3 * item; });
  REQUIRE(results.size() == items.size());
  for (const int item : items) CHECK(results[static_cast<std::size_t>(item)] == 3 * item);
  return asked;
}

}  // namespace

TEST_CASE("Where nothing is in memory, all is asked for before it is read") {
  const unsigned threads = GENERATE(1U, 3U);
  CHECK(announced([](int) { return false; }, threads).size() == count);
}

TEST_CASE("Where all is in memory, few items are asked about") {
  const unsigned threads = GENERATE(1U, 3U);
  const auto asked = announced([](int) { return true; }, threads);
  CHECK(asked.size() >= count / 20);
  CHECK(asked.size() <= count / 10);
}

TEST_CASE("From the first that is not in memory on, all is asked for") {
  const auto asked = announced([](int item) { return item < 500; }, 1);
  for (int item = 520; item < count; ++item) CHECK(asked.contains(item));
  CHECK(asked.size() <= count / 2 + 50);
}

TEST_CASE("Of copies, of which the first is in memory, the others are asked for") {
  const int copies = GENERATE(2, 4, 8, 16, 32);
  CHECK(announced([&](int item) { return item % copies == 0; }, 1).size() >= count - 40);
}

TEST_CASE("Nothing is asked for where there is nothing to read") {
  const std::vector<int> none;
  const auto fail = [](int) -> bool { throw Error(Kind::io, "an item", {"is there", "none", ""}); };
  CHECK(read_each(none, 2, fail, fail).empty());
}
