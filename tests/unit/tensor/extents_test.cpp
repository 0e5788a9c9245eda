#include "tensor/extents.hpp"

#include <type_traits>

#include "catch.hpp"
#include "tensor/stored_array.hpp"

using namespace ckpt;

TEST_CASE("extents hold up to 32 numbers") {
  Extents extents;
  CHECK(extents.empty());
  for (std::uint64_t i = 0; i < max_rank; ++i) extents.push_back(i);
  CHECK(extents.size() == 32);
  CHECK(extents[31] == 31);
  CHECK_THROWS_WITH(extents.push_back(1), Catch::Matchers::Contains("33 dimensions"));
  CHECK_THROWS_AS(Extents(std::size_t{33}), Error);
}

TEST_CASE("extents are the same when their numbers are") {
  const Extents a{1, 2, 3};
  Extents b{1, 2};
  CHECK_FALSE(a == b);
  b.push_back(3);
  CHECK(a == b);
  b.resize(1);
  b.resize(3);  // new numbers are 0, not what stood there
  CHECK(b == Extents{1, 0, 0});
  CHECK(Extents{} == Extents(std::size_t{0}));
  CHECK(to_string(a) == "[1, 2, 3]");
}

TEST_CASE("extents are moved, not copied, when a list of them grows") {
  CHECK(std::is_nothrow_move_constructible_v<StoredArray>);
  CHECK(std::is_nothrow_move_assignable_v<StoredArray>);
  for (const std::size_t rank : {3, 9}) {
    Extents from(rank, 7);
    Extents to(std::move(from));
    CHECK(to == Extents(rank, 7));
    CHECK(from.empty());  // NOLINT(bugprone-use-after-move): what is left is a list of none
    from = std::move(to);
    CHECK(from == Extents(rank, 7));
    CHECK(to.empty());  // NOLINT(bugprone-use-after-move)
    to.push_back(1);
    CHECK(to == Extents{1});
  }
}

TEST_CASE("volumes are checked") {
  CHECK(volume({}) == 1);
  CHECK(volume({2, 3, 4}) == 24);
  CHECK(volume({1ULL << 40, 0, 1ULL << 40}) == 0);  // nothing is never too much
  CHECK(volume({1ULL << 40, 1ULL << 23}) == 1ULL << 63);
  CHECK_THROWS_AS(volume({1ULL << 40, 1ULL << 24}), Error);
}

TEST_CASE("strides are row-major") {
  CHECK(row_major_strides({}) == Extents{});
  CHECK(row_major_strides({7}) == Extents{1});
  CHECK(row_major_strides({2, 3, 4}) == Extents{12, 4, 1});
  const Extents of_nothing = row_major_strides({2, 0, 4});
  CHECK(of_nothing[2] == 1);
  CHECK(of_nothing[0] != 0);  // may be divided by
}
