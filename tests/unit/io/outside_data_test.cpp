#include "io/outside_data.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;

namespace {

constexpr std::uint64_t file_bytes = 4 << 20;
constexpr std::uint64_t step = 256 << 10;

std::byte value(std::uint64_t offset) {
  return static_cast<std::byte>(offset * 13 >> 5U);
}

/// A page in each quarter of a MiB is no data.
std::vector<Interval> scattered_pieces() {
  std::vector<Interval> data;
  for (std::uint64_t at = 0; at < file_bytes; at += step) data.push_back({at + 4096, at + step});
  return outside(data, file_bytes);
}

}  // namespace

TEST_CASE("What is no data is read right, whatever of it the system has in memory") {
  const fixture::TemporaryDirectory folder;
  const PosixFile file = PosixFile::create(folder / "a");
  std::vector<std::byte> bytes(file_bytes);
  for (std::uint64_t i = 0; i < file_bytes; ++i) bytes[i] = value(i);
  file.write(0, bytes);
  const auto pieces = scattered_pieces();
  REQUIRE(pieces.size() == file_bytes / step);
  const std::uint64_t warm = GENERATE(0, 3, 16);  // the first ones, as far as the system forgets the others
  file.sync();
  file.drop_cached();
  std::vector<std::byte> page(4096);
  for (std::uint64_t i = 0; i < warm; ++i) file.read(i * step, page);

  std::uint64_t visited = 0;
  CHECK(for_each_piece(file, pieces, [&](std::uint64_t offset, std::span<const std::byte> piece) {
    CHECK(offset == visited * step);
    CHECK(std::equal(piece.begin(), piece.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
    ++visited;
    return true;
  }));
  CHECK(visited == pieces.size());

  visited = 0;
  CHECK_FALSE(for_each_piece(file, pieces, [&](std::uint64_t, std::span<const std::byte>) { return ++visited < 5; }));
  CHECK(visited == 5);
}
