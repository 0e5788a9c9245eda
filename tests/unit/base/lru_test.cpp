#include "base/lru.hpp"

#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

struct Piece {
  std::uint64_t file = 0;
  std::uint64_t index = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

template <class Cache>
std::vector<int> keys(const Cache& cache) {
  std::vector<int> found;
  for (const auto& entry : cache) found.push_back(entry.key);
  return found;
}

TEST_CASE("an LRU keeps the order of use") {
  ckpt::Lru<int, std::string> cache;
  for (const int key : {1, 2, 3}) cache.insert(key, std::to_string(key));
  CHECK(keys(cache) == std::vector{3, 2, 1});
  const std::string* one = cache.find(1);
  REQUIRE(one != nullptr);
  CHECK(*one == "1");
  CHECK(cache.find(4) == nullptr);
  CHECK(keys(cache) == std::vector{1, 3, 2});
  CHECK(*cache.peek(2) == "2");
  CHECK(cache.peek(4) == nullptr);
  CHECK(keys(cache) == std::vector{1, 3, 2});
  cache.erase(3);
  cache.erase(3);
  CHECK(keys(cache) == std::vector{1, 2});
  CHECK(cache.find(1) == one);  // values do not move
}

TEST_CASE("an LRU drops the least recently used beyond a number") {
  ckpt::Lru<int, int> cache(2);
  cache.insert(1, 10);
  cache.insert(2, 20);
  cache.find(1);
  cache.insert(3, 30);
  CHECK(keys(cache) == std::vector{3, 1});
  CHECK(cache.find(2) == nullptr);
}

TEST_CASE("an LRU drops the least recently used beyond a cost, but never the newest") {
  ckpt::Lru<int, int> cache(ckpt::Lru<int, int>::no_limit, 10);
  cache.insert(1, 0, 4);
  cache.insert(2, 0, 4);
  CHECK(cache.cost() == 8);
  cache.insert(3, 0, 5);
  CHECK(keys(cache) == std::vector{3, 2});
  CHECK(cache.cost() == 9);
  cache.insert(4, 0, 11);
  CHECK(keys(cache) == std::vector{4});
  CHECK(cache.cost() == 11);
  cache.add_cost(4, -8);
  cache.insert(5, 0, 7);
  CHECK(keys(cache) == std::vector{5, 4});
  cache.add_cost(5, 5);
  CHECK(cache.size() == 2);  // until the next insertion
  cache.evict();
  CHECK(cache.cost() == 12);
}

TEST_CASE("an LRU evicts what may go, oldest first") {
  ckpt::Lru<int, std::shared_ptr<int>> cache;
  for (const int key : {1, 2, 3}) cache.insert(key, std::make_shared<int>(key));
  const std::shared_ptr<int> held = *cache.find(1);
  cache.find(2);
  cache.find(3);
  const auto is_free = [](const std::shared_ptr<int>& value) { return value.use_count() == 1; };
  const auto evicted = cache.evict(is_free);
  REQUIRE(evicted.has_value());
  CHECK(evicted->key == 2);
  CHECK(*evicted->value == 2);
  CHECK(cache.evict(is_free)->key == 3);
  CHECK_FALSE(cache.evict(is_free).has_value());
  CHECK(keys(cache) == std::vector{1});
}

TEST_CASE("an LRU finds keys of several fields") {
  ckpt::Lru<Piece, int> cache;
  for (std::uint64_t file = 0; file < 10; ++file)
    for (std::uint64_t index = 0; index < 10; ++index)
      cache.insert({.file = file, .index = index}, static_cast<int>(10 * file + index));
  CHECK(cache.size() == 100);
  CHECK(*cache.find({.file = 3, .index = 7}) == 37);
  CHECK(*cache.find({.file = 7, .index = 3}) == 73);
  CHECK(cache.find({.file = 7, .index = 10}) == nullptr);
}

}  // namespace
