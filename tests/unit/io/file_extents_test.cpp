#include "io/file_extents.hpp"

#include <numeric>
#include <string>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

/// What a part of an array reads in a file whose byte i is i.
std::vector<std::uint64_t> read(const FileExtents& extents, Interval bytes) {
  std::vector<std::uint64_t> found;
  extents.for_each_part(bytes, [&](std::uint64_t offset, Interval part) {
    CHECK_FALSE(part.empty());
    CHECK(part.lo == bytes.lo + found.size());
    for (std::uint64_t i = 0; i < part.size(); ++i) found.push_back(offset + i);
  });
  return found;
}

}  // namespace

TEST_CASE("An array without bytes has no extent") {
  for (const FileExtents& none : {FileExtents(), FileExtents(4096, 0), FileExtents({{7, 7}, {3, 3}})}) {
    CHECK(none.count() == 0);
    CHECK(none.bytes() == 0);
    CHECK(none.offset() == 0);
    CHECK(none == FileExtents());
    CHECK(read(none, {0, 0}).empty());
  }
}

TEST_CASE("Extents that follow one another in the file are one") {
  const FileExtents one({{10, 20}, {20, 20}, {20, 35}});
  CHECK(one.count() == 1);
  CHECK(one == FileExtents(10, 25));
  CHECK(one.at(24) == FileExtent{0, 10, 25});
}

TEST_CASE("Each part of an array is found in the extents that hold it") {
  const std::vector<Interval> in_file{{50, 53}, {10, 14}, {14, 15}, {90, 91}, {0, 7}};
  const FileExtents extents(in_file);
  CHECK(extents.count() == 4);
  CHECK(extents.bytes() == 16);
  CHECK(extents.offset() == 50);
  std::vector<std::uint64_t> whole;
  for (const Interval& interval : in_file)
    for (std::uint64_t i = interval.lo; i < interval.hi; ++i) whole.push_back(i);
  for (std::uint64_t lo = 0; lo <= whole.size(); ++lo)
    for (std::uint64_t hi = lo; hi <= whole.size(); ++hi)
      CHECK(read(extents, {lo, hi}) == std::vector<std::uint64_t>(whole.begin() + static_cast<std::ptrdiff_t>(lo),
                                                                  whole.begin() + static_cast<std::ptrdiff_t>(hi)));
  CHECK(extents.at(7) == FileExtent{3, 10, 5});
  CHECK(extents.at(8) == FileExtent{8, 90, 1});
  std::vector<Interval> listed;
  extents.append_to(listed);
  CHECK(listed == std::vector<Interval>{{50, 53}, {10, 15}, {90, 91}, {0, 7}});
}

TEST_CASE("Extents are the same when all of them are") {
  const FileExtents some({{0, 2}, {8, 9}});
  CHECK(some == FileExtents({{0, 1}, {1, 2}, {8, 9}}));
  CHECK_FALSE(some == FileExtents({{0, 1}, {8, 10}}));
  CHECK_FALSE(some == FileExtents(0, 3));
  CHECK_FALSE(FileExtents(0, 3) == FileExtents(0, 4));
}

TEST_CASE("Sizes that a file lies about do not overflow") {
  CHECK_THROWS_AS(FileExtents(~std::uint64_t{0}, 1), Error);
  CHECK_THROWS_AS(FileExtents({{0, ~std::uint64_t{0}}, {5, 10}}), Error);
}
