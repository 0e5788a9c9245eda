#include "io/direct_writer.hpp"

#include <algorithm>
#include <vector>

#include "base/buffer.hpp"
#include "catch.hpp"
#include "small_files.hpp"

using namespace ckpt;

namespace {

constexpr std::uint64_t page = 4096;

/// A file of 2 MiB, and memory with numbers that tell every byte's place from its neighbours'.
struct Written {
  explicit Written(const fixture::TemporaryDirectory& folder)
      : file(PosixFile::create(folder / "a")), memory(3ULL << 20), expected(2ULL << 20) {
    file.resize(expected.size());
    for (std::uint64_t i = 0; i < memory.size(); ++i)
      memory.data()[i] = static_cast<std::byte>((i * 0x9E3779B97F4A7C15ULL) >> 56);
  }

  /// Writes a run as a target file is written, and returns what went past the page cache.
  Interval write(const DirectWriter& writer, std::uint64_t offset, std::uint64_t shift, std::uint64_t bytes) {
    const std::span<const std::byte> run = memory.first(memory.size()).subspan(shift, bytes);
    const Interval direct = writer.write(offset, run);
    file.write(offset, run.first(direct.lo));
    file.write(offset + direct.hi, run.subspan(direct.hi));
    std::copy(run.begin(), run.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    return direct;
  }

  bool is_right() const {
    std::vector<std::byte> found(expected.size());
    file.read(0, found);
    return found == expected;
  }

  PosixFile file;
  Buffer memory;
  std::vector<std::byte> expected;
};

TEST_CASE("Long runs go past the page cache in whole pages, and the file holds all of them") {
  const fixture::TemporaryDirectory folder;
  Written written(folder);
  const DirectWriter writer(folder / "a");
  if (writer.is_refused()) return;  // a file system in memory
  constexpr std::uint64_t mib = 1ULL << 20;
  CHECK(written.write(writer, 0, 0, mib) == Interval{0, mib});
  CHECK(written.write(writer, mib, page, mib / 2) == Interval{0, mib / 2});
  CHECK(written.is_right());
  // Neighbours within a page: the end of one and the beginning of the next.
  CHECK(written.write(writer, page + 100, 100, mib / 2) == Interval{page - 100, mib / 2 - 100});
  CHECK(written.write(writer, page + 100 + mib / 2, page + 100, mib / 2) == Interval{page - 100, mib / 2 - 100});
  CHECK(written.write(writer, 1, 2 * page + 1, page + 99) == Interval{});  // short
  CHECK(written.is_right());
  CHECK(written.write(writer, mib, 64, mib / 2) == Interval{});  // at another place of the page
  CHECK(written.is_right());
}

TEST_CASE("What cannot be written directly is left to an ordinary write") {
  const fixture::TemporaryDirectory folder;
  Written written(folder);
  const DirectWriter none(folder / "missing");
  CHECK(none.is_refused());
  CHECK(written.write(none, 0, 0, 1ULL << 20) == Interval{});
  CHECK(written.is_right());
  CHECK_FALSE(has_fast_direct_writes(folder / "missing"));
  CHECK_FALSE(has_fast_direct_writes("/proc"));
}

}  // namespace
