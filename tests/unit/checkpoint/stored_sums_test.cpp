#include "checkpoint/stored_sums.hpp"

#include <algorithm>
#include <memory>

#include "catch.hpp"
#include "io/crc.hpp"
#include "unit/checkpoint/gather_fixture.hpp"

using namespace ckpt;
using fixture::Bytes;
using fixture::numbered;

namespace {

/// A dataset behind a header of 10 bytes, with one checksum over both.
class SummedFile final : public SourceFile {
 public:
  static constexpr std::uint64_t header = 10;

  explicit SummedFile(std::uint64_t size) : all_(numbered(header + size)) {
    PosixFile::create(directory_ / "data").write(0, all_);
    file_.emplace(PosixFile::open_for_reading(directory_ / "data"));
    sum_ = crc32.of(all_);
  }
  void read(std::size_t /*dataset*/, std::uint64_t offset, std::span<std::byte> out) override {
    std::copy_n(all_.begin() + static_cast<std::ptrdiff_t>(header + offset), out.size(), out.begin());
  }
  void check(std::size_t dataset) override {
    ++checks;
    compare(dataset, crc32.of(all_));
  }
  /// The second dataset has the place of the first one, and another sum.
  std::optional<StoredSum> stored_sum(std::size_t dataset) const override {
    return StoredSum{&crc32, sum_ + static_cast<std::uint32_t>(dataset), {0, all_.size()}};
  }
  void compare(std::size_t dataset, std::uint32_t sum) const override {
    crc32.check(sum, sum_ + static_cast<std::uint32_t>(dataset), "/w");
  }
  std::optional<LocatedExtent> located(std::size_t /*dataset*/, std::uint64_t /*offset*/) const override {
    return LocatedExtent{{file_->fd(), &file_->path(), 0, 0, all_.size()}, {0, header, all_.size() - header}};
  }
  PartialSum sum_rest(const std::optional<FileSegment>& /*left_out*/) override { return {}; }

  /// Adds a part of the dataset to its sum, as it was read; `damage` is added to its first byte.
  void add(StoredSums& sums, StoredSums::Sum& sum, Interval part, unsigned char damage = 0) {
    Bytes bytes(part.size());
    read(0, part.lo, bytes);
    bytes[0] ^= std::byte{damage};
    sums.add(sum, *this, header + part.lo, bytes);
  }

  int checks = 0;

 private:
  fixture::TemporaryDirectory directory_;
  Bytes all_;
  std::optional<PosixFile> file_;
  std::uint32_t sum_ = 0;
};

bool always(const Transfer& /*transfer*/) {
  return true;
}

}  // namespace

TEST_CASE("a stored sum is compared when the last piece of its data has been read, in whatever order") {
  SummedFile file(100);
  StoredSums sums(always);
  const auto sum = sums.of(file, 3, 0, {});
  REQUIRE(sum);
  file.add(sums, *sum, {60, 100});
  file.add(sums, *sum, {0, 20});
  file.add(sums, *sum, {30, 60});
  CHECK(sums.begun() == 1);
  CHECK(sums.compared() == 0);
  file.add(sums, *sum, {20, 30});
  CHECK(sums.compared() == 1);
  CHECK(sums.of(file, 3, 0, {}) == nullptr);  // for the next card
  sums.finish(1, nullptr);
  CHECK(file.checks == 0);
}

TEST_CASE("damage in any piece of data is found by its stored sum") {
  for (const std::uint64_t at : {0, 25, 50, 75}) {
    SummedFile file(100);
    StoredSums sums(always);
    const auto sum = sums.of(file, 3, 0, {});
    const auto read_all = [&] {
      for (const std::uint64_t begin : {25, 0, 75, 50}) file.add(sums, *sum, {begin, begin + 25}, begin == at ? 4 : 0);
    };
    CHECK_THROWS_WITH(read_all(), Catch::Matchers::Contains("the file is damaged"));
    CHECK(sums.compared() == 0);
  }
}

TEST_CASE("what was not read once, and whole, is compared by reading it again") {
  SummedFile file(100);
  StoredSums sums(always);
  const auto open = [&](FileNumber number) {
    CHECK(number == 3);
    return std::shared_ptr<SourceFile>(&file, [](SourceFile*) {});
  };
  const auto sum = sums.of(file, 3, 0, {});
  SECTION("a gap") {
    file.add(sums, *sum, {0, 99});
  }
  SECTION("an overlap") {
    file.add(sums, *sum, {0, 60});
    file.add(sums, *sum, {40, 100}, 1);
  }
  SECTION("nothing") {}
  CHECK(sums.compared() == 0);
  sums.finish(2, open);
  CHECK(file.checks == 1);
  CHECK(sums.compared() == 1);
}

TEST_CASE("data that is not read through is compared first, and once") {
  SummedFile file(100);
  StoredSums sums([](const Transfer&) { return false; });
  for (int i = 0; i < 2; ++i) CHECK(sums.of(file, 3, 0, {}) == nullptr);
  CHECK(file.checks == 1);
  CHECK(sums.begun() == 0);
}

TEST_CASE("a place with two sums is compared with both") {
  SummedFile file(100);
  StoredSums sums(always);
  file.add(sums, *sums.of(file, 3, 0, {}), {0, 100});
  const auto other = sums.of(file, 3, 1, {});
  REQUIRE(other);
  CHECK_THROWS_WITH(sums.add(*other, file, SummedFile::header, Bytes(100)),
                    Catch::Matchers::Contains("the file is damaged"));
}
