#include "tensor/hyperslab.hpp"

#include <random>

#include "catch.hpp"

using namespace ckpt;

namespace {

/// The elements of a hyperslab, one after the other.
std::vector<std::uint64_t> elements_of(const Hyperslab& hyperslab) {
  const Shape strides = row_major_strides(hyperslab.shape);
  std::vector<std::uint64_t> elements;
  for (std::uint64_t element = 0; element < numel(hyperslab.shape); ++element) {
    bool is_in = true;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      const auto& [start, stride, count, block] = hyperslab.stripes[d];
      const std::uint64_t index = element / strides[d] % hyperslab.shape[d];
      bool is_in_block = false;
      for (std::uint64_t b = 0; b < count; ++b)
        is_in_block = is_in_block || (index >= start + b * stride && index < start + b * stride + block);
      is_in = is_in && is_in_block;
    }
    if (is_in) elements.push_back(element);
  }
  return elements;
}

/// Those of a region.
std::vector<std::uint64_t> elements_of(const Region& region) {
  const Shape size = region.box.shape();
  std::vector<std::uint64_t> elements;
  for (std::uint64_t i = 0; i < numel(size); ++i) {
    std::uint64_t rest = i;
    std::uint64_t element = region.offset;
    for (std::size_t d = size.size(); d-- > 0; rest /= size[d]) element += rest % size[d] * region.strides[d];
    elements.push_back(element);
  }
  return elements;
}

class Random {
 public:
  std::uint64_t from(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }

  Hyperslab hyperslab() {
    Hyperslab made;
    for (std::uint64_t d = from(0, 3); d > 0; --d) {
      const std::uint64_t block = from(1, 3);
      const std::uint64_t count = from(1, 3);
      const std::uint64_t stride = count == 1 ? 1 : block + from(0, 2);
      const std::uint64_t start = from(0, 2);
      made.shape.push_back(start + (count - 1) * stride + block + from(0, 2));
      made.stripes.push_back({start, stride, count, block});
    }
    return made;
  }

 private:
  std::mt19937_64 random_{7};
};

}  // namespace

TEST_CASE("a hyperslab's runs are its elements in order") {
  Random random;
  for (int round = 0; round < 500; ++round) {
    const Hyperslab hyperslab = random.hyperslab();
    const auto elements = elements_of(hyperslab);
    REQUIRE(is_valid(hyperslab));
    REQUIRE(numel(hyperslab) == elements.size());
    const HyperslabRuns runs(hyperslab);
    CHECK(runs.count() == elements.size());
    CHECK(runs.end() == elements.back() + 1);
    for (std::uint64_t i = 0; i < elements.size(); ++i) {
      const auto run = runs.from(i);
      REQUIRE(run.element == elements[i]);
      REQUIRE(i + run.length <= elements.size());
      REQUIRE(elements[i + run.length - 1] == elements[i] + run.length - 1);
    }
    for (std::uint64_t element = 0; element <= numel(hyperslab.shape); ++element) {
      const auto before = std::count_if(elements.begin(), elements.end(), [&](auto e) { return e < element; });
      REQUIRE(runs.before(element) == static_cast<std::uint64_t>(before));
    }
  }
}

TEST_CASE("rows that are whole are one run") {
  CHECK(HyperslabRuns({{4, 6, 5}, {{1, 1, 1, 2}, {0, 1, 1, 6}, {0, 1, 1, 5}}}).from(0).length == 60);
  CHECK(HyperslabRuns({{4, 6}, {{0, 1, 1, 4}, {2, 1, 1, 3}}}).from(0).length == 3);
}

TEST_CASE("a hyperslab that leaves its array, or has elements twice, is none") {
  CHECK(is_valid({{4, 6}, {{0, 2, 2, 2}, {5, 1, 1, 1}}}));
  CHECK_FALSE(is_valid({{4}, {{0, 2, 3, 1}}}));
  CHECK_FALSE(is_valid({{4}, {{0, 1, 2, 2}}}));
  CHECK_FALSE(is_valid({{4}, {{0, 1, 0, 1}}}));
  CHECK_FALSE(is_valid({{4}, {{4, 1, 1, 1}}}));
  CHECK_FALSE(is_valid({{4, 4}, {{0, 1, 1, 4}}}));
  CHECK_FALSE(is_valid({{4}, {{1, ~std::uint64_t{0}, 2, 1}}}));
  CHECK_FALSE(is_valid({{4}, {{1, 1, 1, ~std::uint64_t{0}}}}));
}

TEST_CASE("a region is a hyperslab where its elements are a regular set") {
  const auto of = [](const Shape& size, std::uint64_t offset, const Shape& strides, const Shape& shape) {
    const Region region{whole(size), offset, strides};
    const auto hyperslab = hyperslab_of(region, shape);
    if (hyperslab) {
      auto elements = elements_of(region);
      std::sort(elements.begin(), elements.end());
      CHECK(elements_of(*hyperslab) == elements);
    }
    return hyperslab;
  };
  SECTION("a box of the array") {
    CHECK(of({2, 3}, 8, {6, 1}, {4, 6}) == Hyperslab{{4, 6}, {{1, 1, 1, 2}, {2, 1, 1, 3}}});
  }
  SECTION("columns of a matrix that lies flat") {
    CHECK(of({4, 2}, 3, {6, 1}, {24}) == Hyperslab{{24}, {{3, 6, 4, 2}}});
  }
  SECTION("whole rows that lie flat") {
    CHECK(of({2, 6}, 6, {6, 1}, {24}) == Hyperslab{{24}, {{6, 1, 1, 12}}});
  }
  SECTION("of a part of a convolution's channels, flat") {
    CHECK(of({2, 3, 2}, 2, {10, 2, 1}, {20}) == Hyperslab{{20}, {{2, 10, 2, 6}}});
  }
  SECTION("nested strides of a flat array are too many") {
    CHECK_FALSE(of({2, 2, 2}, 0, {24, 6, 1}, {48}));
  }
  SECTION("transposed: the set is regular, whatever the order") {
    CHECK(of({3, 2}, 0, {1, 3}, {2, 3}) == Hyperslab{{2, 3}, {{0, 1, 1, 2}, {0, 1, 1, 3}}});
  }
  SECTION("a run beyond the end of a row") {
    CHECK_FALSE(of({8}, 0, {1}, {4, 6}));
  }
  SECTION("a diagonal") {
    CHECK_FALSE(of({4}, 0, {5}, {4, 4}));
  }
  SECTION("one element again and again") {
    CHECK_FALSE(of({4}, 2, {0}, {6}));
  }
  SECTION("of no dimensions") {
    CHECK(of({}, 0, {}, {}) == Hyperslab{});
  }
  SECTION("one element of a flat array") {
    CHECK(of({}, 5, {}, {9}) == Hyperslab{{9}, {{5, 1, 1, 1}}});
  }
}
