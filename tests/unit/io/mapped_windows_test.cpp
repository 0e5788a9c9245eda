#include "io/mapped_windows.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/limits.hpp"
#include "catch.hpp"
#include "io/posix_file.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;

namespace {

constexpr std::uint64_t mebibyte = 1ULL << 20;

/// Bytes of mapped files that this process has in memory.
std::uint64_t mapped_in_memory() {
  std::ifstream status("/proc/self/status");
  std::uint64_t found = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:") || line.starts_with("RssShmem:"))
      found += std::stoull(line.substr(line.find(':') + 1)) << 10;
  return found;
}

/// A file of 64 MiB, and 4 KiB touched of each of its `step`s, all over it, twice.
std::uint64_t peak_after_touching(std::uint64_t budget, std::uint64_t step) {
  const fixture::TemporaryDirectory directory;
  const PosixFile file = PosixFile::create(directory / "data");
  const std::vector<std::byte> piece(mebibyte, std::byte{1});
  for (std::uint64_t i = 0; i < 64; ++i) file.write(i * mebibyte, piece);
  const auto status = file.status();
  const LocatedFile mappable{file.fd(), &file.path(), status.device, status.inode, status.bytes};
  take_bus_errors();
  MappedWindows windows(budget);
  const std::uint64_t before = mapped_in_memory();
  std::uint64_t peak = before;
  for (int turn = 0; turn < 2; ++turn)
    for (std::uint64_t at = 0; at + 4096 <= status.bytes; at += step) {
      REQUIRE(windows.with(mappable, at, 4096, [](const std::byte* address) { REQUIRE(*address == std::byte{1}); }));
      peak = std::max(peak, mapped_in_memory());
    }
  return peak - before;
}

}  // namespace

TEST_CASE("mapped windows keep within their budget, whatever is touched of them") {
  CHECK(peak_after_touching(256 * mebibyte, 4096) >= 60 * mebibyte);  // the probe sees what is mapped
  for (const std::uint64_t step : {4096ULL, 100'000ULL, 1ULL << 20, 5ULL << 20}) {
    CAPTURE(step);
    CHECK(peak_after_touching(16 * mebibyte, step) <= 18 * mebibyte);
  }
}

TEST_CASE("where addresses are few, so are mapped windows; where a mapping is refused, no other is tried") {
  const fixture::TemporaryDirectory directory;
  const PosixFile file = PosixFile::create(directory / "data");
  file.resize(256 * mebibyte);
  const auto status = file.status();
  const LocatedFile mappable{file.fd(), &file.path(), status.device, status.inode, status.bytes};
  const auto touch = [&](MappedWindows& windows) {
    bool all = true;
    for (std::uint64_t at = 0; at < status.bytes; at += 8 * mebibyte)
      all = windows.with(mappable, at, 1, [](const std::byte*) {}) && all;
    return all;
  };
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const auto allow = [&](std::uint64_t more) {
    const rlimit low{mapped_bytes() + more, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &low) == 0);
  };

  take_bus_errors();
  MappedWindows many(256 * mebibyte);
  allow(128 * mebibyte);
  const std::uint64_t mapped = mapped_bytes();
  MappedWindows few(256 * mebibyte);
  const bool few_hold = touch(few);
  const std::uint64_t taken = mapped_bytes() - mapped;
  const bool many_hold = touch(many);
  setrlimit(RLIMIT_AS, &before);
  CHECK(few_hold);
  CHECK(taken <= 33 * mebibyte);
  CHECK_FALSE(many_hold);
  CHECK_FALSE(touch(many));  // not even where there is room again: what is read is read
  CHECK(mapped_bytes() <= mapped + 33 * mebibyte);
}
