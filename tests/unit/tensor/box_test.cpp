#include "tensor/box.hpp"

#include <random>
#include <vector>

#include "catch.hpp"
#include "tensor/region.hpp"
#include "tensor/restrided.hpp"

using namespace ckpt;

namespace {

/// Row-major numbers of a box's elements within a tensor of this shape, in the box's own order.
std::vector<std::uint64_t> elements(const Box& box, const Shape& shape) {
  const Shape extents = box.shape();
  const Shape strides = row_major_strides(shape);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < numel(extents); ++i) {
    std::uint64_t rest = i;
    std::uint64_t number = 0;
    for (std::size_t d = shape.size(); d-- > 0; rest /= extents[d])
      number += (box.lo[d] + rest % extents[d]) * strides[d];
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

TEST_CASE("intervals meet where both are") {
  CHECK(intersect(Interval{0, 5}, Interval{3, 9}) == Interval{3, 5});
  CHECK(intersect(Interval{0, 3}, Interval{3, 9}).empty());
  CHECK(intersect(Interval{5, 9}, Interval{0, 2}).empty());
  CHECK(intersect(Interval{5, 9}, Interval{0, 2}).size() == 0);
}

TEST_CASE("boxes meet in every dimension or not at all") {
  const Box a{{0, 0}, {4, 4}};
  CHECK(intersect(a, Box{{2, 3}, {6, 9}}) == Box{{2, 3}, {4, 4}});
  CHECK_FALSE(intersect(a, Box{{2, 4}, {6, 9}}).has_value());
  CHECK(intersect(Box{}, Box{}) == Box{});  // of rank 0: one element
  CHECK(contains(a, Box{{1, 1}, {4, 2}}));
  CHECK_FALSE(contains(a, Box{{1, 1}, {5, 2}}));
  CHECK(to_string(Box{{0, 512}, {512, 4096}}) == "[0:512, 512:4096]");
  CHECK(to_string(Box{}) == "[]");
  CHECK(whole({2, 3}) == Box{{0, 0}, {2, 3}});
  CHECK(Box{{1}, {1}}.empty());
  CHECK_FALSE(Box{}.empty());
}

TEST_CASE("a flat range is cut into the boxes that it is made of") {
  std::vector<std::string> boxes;
  const auto cut = [&](const Shape& shape, Interval flat) {
    boxes.clear();
    for_each_box(shape, flat, [&](const Box& box) { boxes.push_back(to_string(box)); });
    return boxes;
  };
  CHECK(cut({4, 5}, {3, 17}) == std::vector<std::string>{"[0:1, 3:5]", "[1:3, 0:5]", "[3:4, 0:2]"});
  CHECK(cut({4, 5}, {5, 15}) == std::vector<std::string>{"[1:3, 0:5]"});
  CHECK(cut({4, 5}, {6, 8}) == std::vector<std::string>{"[1:2, 1:3]"});
  CHECK(cut({4, 5}, {0, 0}).empty());
  CHECK(cut({}, {0, 1}) == std::vector<std::string>{"[]"});
  CHECK(cut({2, 2, 2}, {1, 7}) ==
        std::vector<std::string>{"[0:1, 0:1, 1:2]", "[0:1, 1:2, 0:2]", "[1:2, 0:1, 0:2]", "[1:2, 1:2, 0:1]"});
}

TEST_CASE("every flat range of a tensor: covered once, in order, by at most 2 rank - 1 boxes") {
  const std::vector<Shape> shapes{{7},       {3, 4},    {1, 5},       {5, 1},         {2, 3, 4},
                                  {3, 1, 3}, {1, 1, 1}, {2, 3, 2, 2}, {2, 1, 2, 1, 3}};
  for (const Shape& shape : shapes)
    for (std::uint64_t lo = 0; lo <= numel(shape); ++lo)
      for (std::uint64_t hi = lo; hi <= numel(shape); ++hi) {
        std::uint64_t next = lo;
        std::size_t boxes = 0;
        bool is_in_order = true;
        for_each_box(shape, {lo, hi}, [&](const Box& box) {
          ++boxes;
          for (const std::uint64_t number : elements(box, shape)) is_in_order = number == next++ && is_in_order;
        });
        CAPTURE(to_string(shape), lo, hi, boxes);
        if (!is_in_order || next != hi || boxes > 2 * shape.size() - 1) FAIL("it is not");
      }
  SUCCEED();
}

TEST_CASE("a region is restricted to a box inside it") {
  const Region region{{{10, 20}, {14, 26}}, 100, {6, 1}, true};
  const Region part = restricted(region, {{11, 22}, {13, 23}});
  CHECK(part.box == Box{{11, 22}, {13, 23}});
  CHECK(part.offset == 100 + 6 + 2);
  CHECK(part.strides == region.strides);
  CHECK(part.fill);
}

TEST_CASE("a region of an array is told by the strides at which that lies elsewhere") {
  std::mt19937_64 engine(5);
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + engine() % (high - low + 1); };
  std::size_t found = 0;
  for (int i = 0; i < 3000; ++i) {
    Shape shape;
    Shape strides;
    for (std::uint64_t rank = between(1, 3); rank > 0; --rank) {
      shape.push_back(between(1, 6));
      strides.push_back(between(0, 40));
    }
    const Shape row_major = row_major_strides(shape);
    Region region{whole({between(1, 4), between(1, 4)}), 0, {between(0, 12), between(0, 12)}, engine() % 2 == 0};
    const std::uint64_t last = (region.box.hi[0] - 1) * region.strides[0] + (region.box.hi[1] - 1) * region.strides[1];
    if (last >= numel(shape)) continue;
    region.offset = between(0, numel(shape) - 1 - last);
    const auto place = [&](std::uint64_t element) {  // of the array, by its own strides
      std::uint64_t at = 0;
      for (std::size_t k = 0; k < shape.size(); ++k) at += element / row_major[k] % shape[k] * strides[k];
      return at;
    };
    const auto moved = restrided(region, shape, strides);
    if (!moved) continue;
    ++found;
    CHECK(moved->box == region.box);
    CHECK(moved->fill == region.fill);
    for (std::uint64_t a = 0; a < region.box.hi[0]; ++a)
      for (std::uint64_t b = 0; b < region.box.hi[1]; ++b)
        CHECK(moved->offset + a * moved->strides[0] + b * moved->strides[1] ==
              place(region.offset + a * region.strides[0] + b * region.strides[1]));
  }
  CHECK(found > 300);
}

TEST_CASE("a region keeps to an array's dimensions, or is none of its strides") {
  const Shape shape{4, 6};
  const Shape transposed{1, 4};
  const auto rows = restrided({{{0, 0}, {2, 6}}, 6, {6, 1}}, shape, transposed);  // rows 1 and 2
  REQUIRE(rows);
  CHECK(rows->offset == 1);
  CHECK(rows->strides == transposed);
  const auto cut = restrided({whole({4, 2, 3}), 0, {6, 3, 1}}, shape, transposed);  // columns in two halves
  REQUIRE(cut);
  CHECK(cut->strides == Shape{1, 12, 4});
  CHECK(restrided({whole({4}), 0, {7}}, shape, transposed)->strides == Shape{5});  // a diagonal
  CHECK_FALSE(restrided({whole({24}), 0, {1}}, shape, transposed));                // from row to row
  CHECK_FALSE(restrided({whole({3}), 4, {1}}, shape, transposed));
  CHECK(restrided({whole({2}), 4, {1}}, shape, transposed)->offset == 16);
}
