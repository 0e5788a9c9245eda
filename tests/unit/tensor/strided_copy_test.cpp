#include "tensor/strided_copy.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(std::uint64_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(1 + i % 251);
  return bytes;
}

/// A box in two arrays, and how large these must be (in elements).
struct Pair {
  Shape shape;
  Shape source_strides;
  Shape target_strides;
  std::uint64_t source_size = 1;
  std::uint64_t target_size = 1;
};

/// The copy element by element.
Bytes naive(const Pair& pair, std::uint64_t element, const Bytes& source) {
  Bytes target(pair.target_size * element);
  for (std::uint64_t i = 0; i < numel(pair.shape); ++i) {
    std::uint64_t rest = i;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    for (std::size_t d = pair.shape.size(); d-- > 0; rest /= pair.shape[d]) {
      from += rest % pair.shape[d] * pair.source_strides[d];
      to += rest % pair.shape[d] * pair.target_strides[d];
    }
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from * element), element,
                target.begin() + static_cast<std::ptrdiff_t>(to * element));
  }
  return target;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + engine_() % (high - low + 1); }

  /// Strides of an array that holds the box with its dimensions in any order and room around it.
  Shape strides(const Shape& shape, std::uint64_t& size) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (between(0, 1) == 0) std::shuffle(order.begin(), order.end(), engine_);
    const bool has_room = between(0, 2) == 0;
    Shape strides(shape.size());
    size = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = size;
      size *= std::max<std::uint64_t>(shape[order[i]], 1) + (has_room ? between(0, 2) : 0);
    }
    return strides;
  }

  Pair pair(std::size_t rank, std::uint64_t largest) {
    Pair pair;
    for (std::size_t d = 0; d < rank; ++d) pair.shape.push_back(between(between(0, 9) == 0 ? 0 : 1, largest));
    pair.source_strides = strides(pair.shape, pair.source_size);
    pair.target_strides = strides(pair.shape, pair.target_size);
    return pair;
  }

 private:
  std::mt19937_64 engine_;
};

void check(const Pair& pair, std::uint64_t element) {
  const Bytes source = numbered(pair.source_size * element);
  const Bytes expected = naive(pair, element, source);
  const StridedCopy copy = strided_copy(pair.shape, pair.source_strides, pair.target_strides, element);
  CAPTURE(to_string(pair.shape), to_string(pair.source_strides), to_string(pair.target_strides), element);
  CHECK(copy.bytes() == numel(pair.shape) * element);
  Bytes target(expected.size());
  run(copy, source.data(), target.data());
  CHECK((target == expected));
  // By way of a message.
  Bytes message(copy.bytes());
  run(strided_copy(pair.shape, pair.source_strides, row_major_strides(pair.shape), element), source.data(),
      message.data());
  Bytes unpacked(expected.size());
  run(strided_copy(pair.shape, row_major_strides(pair.shape), pair.target_strides, element), message.data(),
      unpacked.data());
  CHECK((unpacked == expected));
  CHECK(copy.source_span() <= source.size());
}

}  // namespace

TEST_CASE("copies are what element by element gives, for any rank, strides and element size") {
  Random random(20240501);
  for (int i = 0; i < 1500; ++i) {
    const std::size_t rank = random.between(0, 6);
    check(random.pair(rank, rank > 4 ? 3 : 6), random.between(1, 17));
  }
}

TEST_CASE("large planes, transposed, go in tiles") {
  for (const std::uint64_t element : {1U, 2U, 4U, 8U, 16U, 3U, 64U}) {
    check({{150, 130}, {130, 1}, {1, 150}, 150 * 130, 150 * 130}, element);
    check({{3, 70, 65}, {70 * 65, 65, 1}, {70 * 65, 1, 70}, 3 * 70 * 65, 3 * 70 * 65}, element);
    check({{300, 270}, {270, 1}, {1, 300}, 300 * 270, 300 * 270}, element);
    check({{40, 50}, {100, 2}, {1, 40}, 40 * 100, 40 * 50}, element);  // that do not follow one another in the source
  }
}

TEST_CASE("32 dimensions") {
  Pair pair{Shape(max_rank, 1), Shape(max_rank), Shape(max_rank), 1, 1};
  for (const std::size_t d : {0U, 3U, 7U, 12U, 18U, 25U, 31U}) pair.shape[d] = 2;
  for (std::size_t d = max_rank; d-- > 0;) {
    pair.source_strides[d] = pair.source_size;
    pair.source_size *= pair.shape[d] + (d == 18 ? 1 : 0);
  }
  for (std::size_t d = 0; d < max_rank; ++d) {
    pair.target_strides[d] = pair.target_size;
    pair.target_size *= pair.shape[d];
  }
  check(pair, 3);
  Pair deep{Shape(max_rank, 1), Shape(max_rank), Shape(max_rank), 1, 1};
  deep.shape[31] = 5;
  check(deep, 2);  // strides 0 of dimensions of one element do not matter
}

TEST_CASE("dimensions that go on on both sides are merged") {
  const StridedCopy dense = strided_copy({4, 5, 6}, {30, 6, 1}, {30, 6, 1}, 4);
  CHECK(dense.depth == 0);
  CHECK(dense.run == 480);

  const StridedCopy rows = strided_copy({4, 5, 6}, {30, 6, 1}, {60, 6, 1}, 4);  // the target has room behind each slice
  CHECK(rows.depth == 1);
  CHECK(rows.run == 120);
  CHECK(rows.loops[0].count == 4);
  CHECK(rows.loops[0].source_stride == 120);
  CHECK(rows.loops[0].target_stride == 240);

  const StridedCopy columns =
      strided_copy({4, 5, 3}, {30, 6, 1}, {15, 3, 1}, 2);  // half of each row: outer loops are one
  CHECK(columns.depth == 1);
  CHECK(columns.run == 6);
  CHECK(columns.loops[0].count == 20);

  const StridedCopy transposed = strided_copy({3, 4}, {4, 1}, {1, 3}, 8);
  CHECK(transposed.depth == 2);
  CHECK(transposed.run == 8);
  CHECK(transposed.loops[0].target_stride > transposed.loops[1].target_stride);  // writes go forward
}

TEST_CASE("nothing is copied of an empty box, one element of one without dimensions") {
  const StridedCopy nothing = strided_copy({3, 0}, {1, 1}, {1, 1}, 4);
  CHECK(nothing.bytes() == 0);
  CHECK(nothing.source_span() == 0);
  run(nothing, nullptr, nullptr);
  const StridedCopy scalar = strided_copy({}, {}, {}, 16);
  CHECK(scalar.bytes() == 16);
  CHECK(scalar.source_span() == 16);
}

TEST_CASE("the span of a copy is from the first byte touched to the last") {
  const StridedCopy copy = strided_copy({3, 4}, {10, 2}, {4, 1}, 4);
  CHECK(copy.source_span() == (2 * 10 + 3 * 2 + 1) * 4);
}
