#include "store/direct_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "catch.hpp"
#include "store/posix_file.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;

namespace {

constexpr std::uint64_t mebibyte = 1ULL << 20;

/// A file of so many bytes, each word of which says where it is, and which the system was asked to forget.
class ColdFile {
 public:
  explicit ColdFile(std::uint64_t bytes) : file_(PosixFile::create(directory_ / "data")) {
    std::vector<std::uint64_t> words((bytes + 7) / 8);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
    file_.write(0, std::as_bytes(std::span(words)).first(bytes));
    file_.sync();
    file_.drop_cached();
    const auto status = file_.status();
    located = {file_.fd(), &file_.path(), status.device, status.inode, status.bytes};
  }
  /// Some file systems keep all in memory.
  bool is_cold() const { return !is_in_memory(file_.fd(), 0, located.bytes); }
  const PosixFile& file() const { return file_; }

  LocatedFile located;

 private:
  fixture::TemporaryDirectory directory_;
  PosixFile file_;
};

std::uint64_t word_at(const DirectBlocks::Held& held) {
  std::uint64_t word = 0;
  std::memcpy(&word, held.address, sizeof word);
  return word;
}

}  // namespace

TEST_CASE("blocks that are wanted are found, up to the file's end") {
  const std::uint64_t size = 5 * mebibyte + 24;
  const ColdFile cold(size);
  if (!cold.is_cold()) {
    WARN("this file system keeps its files in memory");
    return;
  }
  DirectBlocks blocks(DirectBlocks::least_memory, 1);
  REQUIRE(blocks.block_bytes() == mebibyte);
  DirectBlocks::Lease lease;
  CHECK(blocks.find(cold.located, 0).address == nullptr);
  blocks.want(cold.located, {100, 200}, lease);
  blocks.want(cold.located, {2 * mebibyte - 1, size}, lease);
  CHECK(lease.size() == 6);
  for (const std::uint64_t at : {std::uint64_t{0}, 8 * std::uint64_t{1000}, 3 * mebibyte - 8, 5 * mebibyte + 16}) {
    CAPTURE(at);
    const auto held = blocks.find(cold.located, at);
    REQUIRE(held.address != nullptr);
    CHECK(word_at(held) == at / 8);
    CHECK(held.bytes == std::min(size, (at / mebibyte + 1) * mebibyte) - at);
  }
  CHECK(blocks.find(cold.located, size).address == nullptr);
}

TEST_CASE("what is held stays, what nobody holds makes room") {
  const ColdFile cold(40 * mebibyte);
  if (!cold.is_cold()) {
    WARN("this file system keeps its files in memory");
    return;
  }
  DirectBlocks blocks(DirectBlocks::least_memory, 1);
  DirectBlocks::Lease first, all;
  blocks.want(cold.located, {0, mebibyte}, first);
  blocks.want(cold.located, {mebibyte, 40 * mebibyte}, all);
  CHECK(all.size() == 15);  // of the 16 MiB
  CHECK_FALSE(blocks.has_room());
  all.clear();
  for (std::uint64_t block = 1; block < 40; ++block) {  // there are reads under way at first
    DirectBlocks::Lease one;
    blocks.want(cold.located, {block * mebibyte, (block + 1) * mebibyte}, one);
    const auto held = blocks.find(cold.located, block * mebibyte);
    if (held.address != nullptr) CHECK(word_at(held) == block * mebibyte / 8);
  }
  CHECK(blocks.has_room());
  CHECK(word_at(blocks.find(cold.located, 0)) == 0);
}

TEST_CASE("what the system has in memory, and what is no longer there, is left to the usual reading") {
  const ColdFile cold(4 * mebibyte);
  if (!cold.is_cold()) {
    WARN("this file system keeps its files in memory");
    return;
  }
  DirectBlocks blocks(DirectBlocks::least_memory, 1);
  DirectBlocks::Lease lease;
  std::vector<std::byte> piece(mebibyte);
  cold.file().read(0, piece);
  blocks.want(cold.located, {0, 10}, lease);
  CHECK(lease.empty());
  cold.file().resize(3 * mebibyte + 10);
  blocks.want(cold.located, {3 * mebibyte, 4 * mebibyte}, lease);
  CHECK(blocks.find(cold.located, 3 * mebibyte).address == nullptr);
}

TEST_CASE("blocks that are read over and over are read no longer") {
  const ColdFile cold(40 * mebibyte);
  if (!cold.is_cold()) {
    WARN("this file system keeps its files in memory");
    return;
  }
  DirectBlocks blocks(DirectBlocks::least_memory, 1);
  std::uint64_t found = 0;
  for (int turn = 0; turn < 4; ++turn)
    for (std::uint64_t block = 0; block < 40; ++block) {
      DirectBlocks::Lease lease;
      blocks.want(cold.located, {block * mebibyte, block * mebibyte + 1}, lease);
      found += lease.size();
      blocks.find(cold.located, block * mebibyte);
    }
  CHECK(found >= 32);
  CHECK(found <= 33 + 3 * 16);  // of 160: those that stay in memory are found again
}
