#include "plan/chunk.hpp"

#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

std::vector<std::uint64_t> sizes(const ChunkGrid& grid) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < grid.count(); ++i) sizes.push_back(grid[i].size());
  return sizes;
}

}  // namespace

TEST_CASE("chunks are whole rows, as many as fit") {
  CHECK(sizes(ChunkGrid({10, 100}, 4, 1200)) == std::vector<std::uint64_t>{300, 300, 300, 100});
  CHECK(sizes(ChunkGrid({10, 100}, 4, 1199)) == std::vector<std::uint64_t>(5, 200));
  CHECK(sizes(ChunkGrid({10, 100}, 4, 1 << 20)) == std::vector<std::uint64_t>{1000});
  CHECK(ChunkGrid({10, 100}, 4, 1200)[3] == Interval{900, 1000});
}

TEST_CASE("one enormous row is cut, too") {
  CHECK(sizes(ChunkGrid({1, 1000}, 4, 1600)) == std::vector<std::uint64_t>{400, 400, 200});
  CHECK(sizes(ChunkGrid({2, 1000}, 4, 1600)) == std::vector<std::uint64_t>{400, 400, 200, 400, 400, 200});
  const ChunkGrid giant({3, 1ULL << 40}, 2, 4ULL << 20);
  CHECK(giant.count() == 3 * (1ULL << 19));
  CHECK(giant[giant.count() - 1].hi == 3ULL << 40);
}

TEST_CASE("no elements, no chunks; at least one element in each") {
  CHECK(ChunkGrid({5, 0}, 4, 100).count() == 0);
  CHECK(sizes(ChunkGrid({}, 8, 100)) == std::vector<std::uint64_t>{1});
  CHECK(sizes(ChunkGrid({3}, 16, 1)) == std::vector<std::uint64_t>{1, 1, 1});
  CHECK(sizes(ChunkGrid({2, 2}, 16, 0)) == std::vector<std::uint64_t>(4, 1));
}

TEST_CASE("any grid covers its array once, in order, each chunk one box and within the limit") {
  const std::vector<Shape> shapes{{7}, {3, 5}, {2, 3, 4}, {1, 1, 9}, {4, 1, 3}, {2, 2, 2, 3}};
  for (const Shape& shape : shapes)
    for (std::uint64_t limit = 1; limit <= numel(shape) + 1; ++limit) {
      const ChunkGrid grid(shape, 1, limit);
      std::uint64_t next = 0;
      for (std::uint64_t i = 0; i < grid.count(); ++i) {
        CAPTURE(to_string(shape), limit, i);
        CHECK(grid[i].lo == next);
        CHECK(grid[i].size() <= limit);
        CHECK(grid[i].size() >= 1);
        std::size_t boxes = 0;
        for_each_box(shape, grid[i], [&](const Box&) { ++boxes; });
        CHECK(boxes == 1);
        next = grid[i].hi;
      }
      CHECK(next == numel(shape));
    }
}
