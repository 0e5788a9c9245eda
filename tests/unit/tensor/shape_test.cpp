#include "tensor/shape.hpp"

#include <type_traits>

#include "catch.hpp"
#include "tensor/stored_array.hpp"

using namespace ckpt;

TEST_CASE("extents hold up to 32 numbers") {
  Shape shape;
  CHECK(shape.empty());
  for (std::uint64_t i = 0; i < max_rank; ++i) shape.push_back(i);
  CHECK(shape.size() == 32);
  CHECK(shape[31] == 31);
  CHECK_THROWS_WITH(shape.push_back(1), Catch::Matchers::Contains("33 dimensions"));
  CHECK_THROWS_AS(Shape(std::size_t{33}), Error);
}

TEST_CASE("extents are the same when their numbers are") {
  const Shape a{1, 2, 3};
  Shape b{1, 2};
  CHECK_FALSE(a == b);
  b.push_back(3);
  CHECK(a == b);
  b.resize(1);
  b.resize(3);  // new numbers are 0, not what stood there
  CHECK(b == Shape{1, 0, 0});
  CHECK(Shape{} == Shape(std::size_t{0}));
  CHECK(to_string(a) == "[1, 2, 3]");
}

TEST_CASE("extents are moved, not copied, when a list of them grows") {
  CHECK(std::is_nothrow_move_constructible_v<StoredArray>);
  CHECK(std::is_nothrow_move_assignable_v<StoredArray>);
  for (const std::size_t rank : {3, 9}) {
    Shape from(rank, 7);
    Shape to(std::move(from));
    CHECK(to == Shape(rank, 7));
    CHECK(from.empty());  // NOLINT(bugprone-use-after-move): what is left is a list of none
    from = std::move(to);
    CHECK(from == Shape(rank, 7));
    CHECK(to.empty());  // NOLINT(bugprone-use-after-move)
    to.push_back(1);
    CHECK(to == Shape{1});
  }
}

TEST_CASE("volumes are checked") {
  CHECK(numel(Shape{}) == 1);
  CHECK(numel(Shape{2, 3, 4}) == 24);
  CHECK(numel(Shape{1ULL << 40, 0, 1ULL << 40}) == 0);  // nothing is never too much
  CHECK(numel(Shape{1ULL << 40, 1ULL << 23}) == 1ULL << 63);
  CHECK_THROWS_AS(numel(Shape{1ULL << 40, 1ULL << 24}), Error);
}

TEST_CASE("strides are row-major") {
  CHECK(row_major_strides({}) == Shape{});
  CHECK(row_major_strides({7}) == Shape{1});
  CHECK(row_major_strides({2, 3, 4}) == Shape{12, 4, 1});
  const Shape of_nothing = row_major_strides({2, 0, 4});
  CHECK(of_nothing[2] == 1);
  CHECK(of_nothing[0] != 0);  // may be divided by
}
