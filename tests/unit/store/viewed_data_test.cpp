#include "store/viewed_data.hpp"

#include <numeric>
#include <random>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::byte>;

/// A dataset in memory, each byte its number; counts what is read.
class Numbered final : public SourceFile {
 public:
  explicit Numbered(std::uint64_t bytes) : bytes_(bytes) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(1 + i % 251);
  }

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    REQUIRE(dataset == 3);
    REQUIRE(offset + out.size() <= bytes_.size());
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    reads.push_back(out.size());
  }
  PartialSum sum_rest(const std::optional<FileSegment>&) override { return {}; }

  std::byte at(std::uint64_t byte) const { return bytes_[byte]; }
  std::vector<std::uint64_t> reads;

 private:
  Bytes bytes_;
};

Hyperslab box(const Shape& shape, const Box& part) {
  Hyperslab made{shape, {}};
  for (std::size_t d = 0; d < shape.size(); ++d) made.stripes.push_back({part.lo[d], 1, 1, part[d].size()});
  return made;
}

TEST_CASE("what a view shows of another dataset comes in its order, to its place") {
  const View view = GENERATE(View{0, "w", {{60}, {{2, 7, 6, 3}}}, {{4, 9}, {{1, 1, 1, 3}, {2, 1, 1, 6}}}},
                             View{0, "w", {{6, 9}, {{0, 2, 3, 1}, {1, 4, 2, 3}}}, {{18}, {{0, 1, 1, 18}}}},
                             View{0, "w", {{18}, {{0, 1, 1, 18}}}, {{5, 9}, {{1, 2, 2, 1}, {0, 1, 1, 9}}}});
  const std::uint64_t element = GENERATE(1U, 4U, 12U);
  Numbered source(numel(view.theirs.shape) * element);
  const std::uint64_t all = numel(view.ours.shape);
  const HyperslabRuns ours(view.ours);
  const HyperslabRuns theirs(view.theirs);
  for (std::uint64_t lo = 0; lo < all; ++lo)
    for (std::uint64_t hi = lo + 1; hi <= all; ++hi) {
      Bytes expected((hi - lo) * element, std::byte{0});
      for (std::uint64_t i = 0; i < numel(view.ours); ++i) {
        const std::uint64_t to = ours.from(i).element;
        if (to < lo || to >= hi) continue;
        for (std::uint64_t byte = 0; byte < element; ++byte)
          expected[(to - lo) * element + byte] = source.at(theirs.from(i).element * element + byte);
      }
      Bytes found(expected.size(), std::byte{0});
      read_view(view, {lo, hi}, element, source, 3, found);
      REQUIRE(found == expected);
    }
}

TEST_CASE("a shard of columns is read by its own rows, many at a time") {
  const Shape shape{1000, 64};
  const View view{0, "w", whole_hyperslab({1000, 8}), box(shape, {{0, 8}, {1000, 16}})};
  Numbered source(1000 * 8 * 4);
  Bytes out(1000 * 64 * 4);
  read_view(view, {0, 64000}, 4, source, 3, out);
  CHECK(source.reads == std::vector<std::uint64_t>{1000 * 8 * 4});
  CHECK(out[(64 + 8) * 4] == source.at(32));
}

TEST_CASE("of elements that lie far apart only they are read") {
  const View view{0, "w", {{100000}, {{0, 5000, 20, 2}}}, whole_hyperslab({40})};
  Numbered source(100000);
  Bytes out(40);
  read_view(view, {0, 40}, 1, source, 3, out);
  CHECK(source.reads == std::vector<std::uint64_t>(20, 2));
}

TEST_CASE("long runs go to their place directly") {
  const View view{0, "w", whole_hyperslab({1U << 20}), whole_hyperslab({1024, 1024})};
  Numbered source(1U << 20);
  Bytes out(1U << 19);
  read_view(view, {1U << 18, (1U << 18) + out.size()}, 1, source, 3, out);
  CHECK(source.reads == std::vector<std::uint64_t>{1U << 19});
  CHECK(out.front() == source.at(1U << 18));
}

TEST_CASE("the views that some elements have are found by where they lie") {
  std::vector<View> views;
  for (const std::uint64_t column : {6U, 2U, 0U, 4U})
    views.push_back({0, "w", whole_hyperslab({3, 2}), box({8, 8}, {{column, column}, {column + 2, column + 2}})});
  for (View& view : views) view.theirs = whole_hyperslab({2, 2});
  const ViewIndex index(views);
  using Found = std::vector<const View*>;
  CHECK(index.touching({0, 64}) == Found{&views[0], &views[1], &views[2], &views[3]});
  CHECK(index.touching({0, 1}) == Found{&views[2]});
  CHECK(index.touching({10, 11}).empty());
  CHECK(index.touching({16, 24}) == Found{&views[1]});
  CHECK(index.touching({24, 40}) == Found{&views[1], &views[3]});
  const std::vector<View> none;
  CHECK(ViewIndex(none).touching({0, 9}).empty());
}

}  // namespace
