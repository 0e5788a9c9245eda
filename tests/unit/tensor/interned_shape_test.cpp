#include "tensor/interned_shape.hpp"

#include <optional>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("equal shapes are one object") {
  const InternedShape a{4, 8};
  const InternedShape b = Shape{4, 8};
  CHECK(a == b);
  CHECK(&a.value() == &b.value());
  CHECK_FALSE(a == InternedShape{8, 4});
  CHECK_FALSE(InternedShape{1} == InternedShape{});
  CHECK(InternedShape{} == InternedShape(Shape{}));
  CHECK(a == Shape{4, 8});
  CHECK(sizeof(InternedShape) == sizeof(void*));
}

TEST_CASE("a shape is read as extents are") {
  const InternedShape shape{2, 3, 4, 5, 6};
  CHECK(shape.size() == 5);
  CHECK(shape[4] == 6);
  CHECK(std::vector<std::uint64_t>(shape.begin(), shape.end()) == std::vector<std::uint64_t>{2, 3, 4, 5, 6});
  CHECK(numel(shape) == 720);
  CHECK(numel(InternedShape{}) == 1);
  const std::optional<Shape> copy = std::optional<InternedShape>(shape);
  CHECK(copy == shape.value());
}

TEST_CASE("another size of one dimension leaves the shape as it was") {
  const InternedShape shape{2, 3};
  CHECK(shape.with(0, 7) == Shape{7, 3});
  CHECK(shape == Shape{2, 3});
}

TEST_CASE("threads that keep the same shapes get the same objects") {
  constexpr std::uint64_t count = 2000;
  std::vector<std::vector<const Shape*>> kept(4);
  std::vector<std::thread> threads;
  for (auto& mine : kept)
    threads.emplace_back([&mine] {
      for (std::uint64_t i = 0; i < count; ++i) mine.push_back(&InternedShape{i, 77}.value());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : kept) CHECK(mine == kept.front());
}
