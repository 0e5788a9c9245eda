#include "tensor/region.hpp"

#include <map>
#include <random>
#include <vector>

#include "base/checked.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

/// The number of the chunk that holds an element of a row-major array.
std::uint64_t chunk_of(std::uint64_t element, const Shape& shape, const Shape& chunk) {
  std::uint64_t number = 0;
  const Shape strides = row_major_strides(shape);
  for (std::size_t d = 0; d < shape.size(); ++d)
    number = number * ceil_div(shape[d], chunk[d]) + element / strides[d] % shape[d] / chunk[d];
  return number;
}

/// The elements of an array that a region holds, in the order of its box.
std::vector<std::uint64_t> elements_of(const Region& region) {
  std::vector<std::uint64_t> elements;
  const Shape size = region.box.shape();
  for (std::uint64_t i = 0; i < numel(size); ++i) {
    std::uint64_t rest = i;
    std::uint64_t at = region.offset;
    for (std::size_t d = size.size(); d-- > 0; rest /= size[d]) at += rest % size[d] * region.strides[d];
    elements.push_back(at);
  }
  return elements;
}

}  // namespace

TEST_CASE("a region is divided at the borders of chunks, one chunk after another") {
  std::mt19937_64 random(7);
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  for (int round = 0; round < 2000; ++round) {
    const Shape shape{between(1, 6), between(1, 9), between(1, 9)};
    const Shape chunk{between(1, 7), between(1, 10), between(1, 10)};
    const Shape strides = row_major_strides(shape);
    Region region{whole(Shape(3, 1)), 0, Shape(3), false};
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint64_t first = between(0, shape[d] - 1);
      const std::uint64_t step = between(1, 3);
      const std::uint64_t count = between(1, (shape[d] - 1 - first) / step + 1);
      const std::uint64_t lo = between(0, 4);  // the box is the tensor's, not the array's
      region.box.set(d, {lo, lo + count});
      region.offset += first * strides[d];
      region.strides[d] = step * strides[d];
    }
    std::map<std::uint64_t, std::size_t> elements;
    std::map<std::uint64_t, std::size_t> chunks;
    for_each_chunk_part(region, shape, chunk, [&](const Region& part) {
      const auto of_part = elements_of(part);
      const std::uint64_t number = chunk_of(of_part.front(), shape, chunk);
      ++chunks[number];
      for (const std::uint64_t element : of_part) {
        ++elements[element];
        CHECK(chunk_of(element, shape, chunk) == number);
      }
    });
    const auto wanted = elements_of(region);
    CHECK(elements.size() == wanted.size());
    for (const std::uint64_t element : wanted) CHECK(elements[element] == 1);
    for (const auto& [number, parts] : chunks) CHECK(parts == 1);
  }
}

TEST_CASE("a dimension of a box that goes through several of an array's is not divided at chunks") {
  const Shape shape{4, 8};
  const Region flat{whole(Shape{32}), 0, Shape{1}, false};
  std::size_t parts = 0;
  for_each_chunk_part(flat, shape, Shape{2, 4}, [&](const Region& part) {
    CHECK(elements_of(part) == elements_of(flat));
    ++parts;
  });
  CHECK(parts == 1);
}
