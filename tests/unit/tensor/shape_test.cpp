#include "tensor/shape.hpp"

#include <optional>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("equal shapes are one object") {
  const Shape a{4, 8};
  const Shape b = Extents{4, 8};
  CHECK(a == b);
  CHECK(&a.extents() == &b.extents());
  CHECK_FALSE(a == Shape{8, 4});
  CHECK_FALSE(Shape{1} == Shape{});
  CHECK(Shape{} == Shape(Extents{}));
  CHECK(a == Extents{4, 8});
  CHECK(sizeof(Shape) == sizeof(void*));
}

TEST_CASE("a shape is read as extents are") {
  const Shape shape{2, 3, 4, 5, 6};
  CHECK(shape.size() == 5);
  CHECK(shape[4] == 6);
  CHECK(std::vector<std::uint64_t>(shape.begin(), shape.end()) == std::vector<std::uint64_t>{2, 3, 4, 5, 6});
  CHECK(volume(shape) == 720);
  CHECK(volume(Shape{}) == 1);
  const std::optional<Extents> copy = std::optional<Shape>(shape);
  CHECK(copy == shape.extents());
}

TEST_CASE("another size of one dimension leaves the shape as it was") {
  const Shape shape{2, 3};
  CHECK(shape.with(0, 7) == Extents{7, 3});
  CHECK(shape == Extents{2, 3});
}

TEST_CASE("threads that keep the same shapes get the same objects") {
  constexpr std::uint64_t count = 2000;
  std::vector<std::vector<const Extents*>> kept(4);
  std::vector<std::thread> threads;
  for (auto& mine : kept)
    threads.emplace_back([&mine] {
      for (std::uint64_t i = 0; i < count; ++i) mine.push_back(&Shape{i, 77}.extents());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : kept) CHECK(mine == kept.front());
}
