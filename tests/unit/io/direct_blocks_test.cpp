#include "io/direct_blocks.hpp"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <set>

#include "catch.hpp"
#include "io/posix_file.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;

namespace {

constexpr std::uint64_t mebibyte = 1ULL << 20;

/// Files whose words say which file it is, and where: read as a test says.
struct Files {
  std::uint64_t word(std::uint64_t file, std::uint64_t at) const { return (file << 56) | at | 1; }

  DirectBlocks::Read read() {
    return [this](std::uint64_t file, std::uint64_t start, std::span<std::byte> out) {
      ++reads;
      if (const auto found = instead.find({file, start / mebibyte}); found != instead.end()) return found->second;
      if (throws) throw Error(Kind::io, "it cannot be opened");
      for (std::size_t at = 0; at + sizeof(std::uint64_t) <= out.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t value = word(file, start + at);
        std::memcpy(out.data() + at, &value, sizeof value);
      }
      return DirectReadStatus::read;
    };
  }

  std::map<std::pair<std::uint64_t, std::uint64_t>, DirectReadStatus> instead;  // by file and block
  bool throws = false;
  std::atomic<int> reads{0};
};

std::uint64_t word_at(const DirectBlocks::PinnedBytes& held) {
  REQUIRE(held.address != nullptr);
  std::uint64_t word = 0;
  std::memcpy(&word, held.address, sizeof word);
  return word;
}

}  // namespace

TEST_CASE("blocks that are wanted are found, each file's its own, up to the file's end") {
  Files files;
  const std::uint64_t size = 5 * mebibyte + 24;
  DirectBlocks blocks(DirectBlocks::least_memory, 1, files.read());
  REQUIRE(blocks.block_bytes() == mebibyte);
  Lease lease;
  CHECK(blocks.find(1, 8).address == nullptr);
  CHECK(blocks.find(1, 8).bytes == mebibyte - 8);  // of the block that it would be in
  for (const std::uint64_t file : {1U, 2U}) {
    blocks.want(file, size, {100, 200}, lease);
    blocks.want(file, size, {150, 200}, lease);
    blocks.want(file, size, {2 * mebibyte - 1, size}, lease);
  }
  CHECK(lease.size() == 12);
  for (const std::uint64_t file : {1U, 2U})
    for (const std::uint64_t at : {std::uint64_t{8}, std::uint64_t{8000}, 3 * mebibyte - 8, 5 * mebibyte + 16}) {
      CAPTURE(file, at);
      const auto held = blocks.find(file, at);
      CHECK(word_at(held) == files.word(file, at));
      CHECK(held.bytes == std::min(size, (at / mebibyte + 1) * mebibyte) - at);
    }
  CHECK(blocks.find(1, size).address == nullptr);
  CHECK(blocks.find(3, 8).address == nullptr);
  CHECK(files.reads == 12);
}

TEST_CASE("what is held stays, what nobody holds makes room") {
  Files files;
  const std::uint64_t size = 40 * mebibyte;
  DirectBlocks blocks(DirectBlocks::least_memory, 1, files.read());
  Lease first, all;
  blocks.want(1, size, {0, mebibyte}, first);
  blocks.want(1, size, {mebibyte, size}, all);
  CHECK(all.size() == 15);  // of the 16 MiB
  CHECK_FALSE(blocks.has_room());
  for (std::uint64_t block = 1; block < 16; ++block) blocks.find(1, block * mebibyte);  // until it has been read
  all.clear();
  CHECK(blocks.has_room());
  int found = 0;
  for (std::uint64_t block = 1; block < 40; ++block) {
    Lease one;
    blocks.want(1, size, {block * mebibyte, (block + 1) * mebibyte}, one);
    const auto held = blocks.find(1, block * mebibyte + 8);
    blocks.count_used(mebibyte);
    if (held.address == nullptr) continue;  // a reader may not have let go of the one that is to make room
    ++found;
    CHECK(word_at(held) == files.word(1, block * mebibyte + 8));
  }
  CHECK(found > 30);
  CHECK(word_at(blocks.find(1, 8)) == files.word(1, 8));
}

TEST_CASE("no more memory is taken than files gain by, but where it is held") {
  Files files;
  const std::uint64_t size = 1000 * mebibyte;
  DirectBlocks blocks(900 * mebibyte, 1, files.read());
  const std::uint64_t step = blocks.block_bytes();
  REQUIRE(step == mebibyte + mebibyte / 2);
  std::set<const std::byte*> places;
  Lease all;
  std::uint64_t usual = 0;
  for (; !blocks.is_far_ahead(); ++usual) blocks.want(1, size, {usual * step, (usual + 1) * step}, all);
  CHECK(usual >= 64);
  CHECK(usual < 600);
  CHECK(blocks.has_room());
  blocks.want(1, size, {usual * step, (usual + 1) * step}, all);
  CHECK(all.size() == usual + 1);  // whoever cannot wait gets more
  for (std::uint64_t block = 0; block <= usual; ++block) places.insert(blocks.find(1, block * step).address);
  all.clear();
  CHECK_FALSE(blocks.is_far_ahead());
  for (std::uint64_t block = usual + 1; block < 2 * usual; ++block) {
    Lease one;
    blocks.want(1, size, {block * step, (block + 1) * step}, one);
    places.insert(blocks.find(1, block * step).address);
    blocks.count_used(step);
  }
  CHECK(places.size() <= usual + 3);  // a reader may not have let go of the one that is to make room
}

TEST_CASE("what is to be read as usual is not asked for again, and takes no room") {
  Files files;
  files.instead = {{{1, 0}, DirectReadStatus::left}, {{2, 0}, DirectReadStatus::refused}};
  DirectBlocks blocks(DirectBlocks::least_memory, 1, files.read());
  for (int turn = 0; turn < 3; ++turn) {
    Lease lease;
    for (const std::uint64_t file : {1U, 2U}) blocks.want(file, 2 * mebibyte, {0, 10}, lease);
    for (const std::uint64_t file : {1U, 2U}) CHECK(blocks.find(file, 8).address == nullptr);
  }
  CHECK(files.reads == 2);
  CHECK(blocks.is_refused());
  Lease lease;
  blocks.want(2, 2 * mebibyte, {mebibyte, mebibyte + 10}, lease);
  CHECK(lease.empty());
  blocks.want(1, 2 * mebibyte, {mebibyte, mebibyte + 10}, lease);
  CHECK(word_at(blocks.find(1, mebibyte + 8)) == files.word(1, mebibyte + 8));
  CHECK(blocks.has_room());
  blocks.want(3, 40 * mebibyte, {0, 40 * mebibyte}, lease);
  CHECK(lease.size() == 16);
}

TEST_CASE("an error of a reader leaves the block to the usual reading, and nobody waits for it") {
  Files files;
  files.throws = true;
  DirectBlocks blocks(DirectBlocks::least_memory, 1, files.read());
  Lease lease;
  blocks.want(1, 8 * mebibyte, {0, 8 * mebibyte}, lease);
  for (std::uint64_t block = 0; block < 8; ++block) CHECK(blocks.find(1, block * mebibyte).address == nullptr);
  CHECK(files.reads == 8);
}

TEST_CASE("blocks that are read over and over are read no longer, until it is tried again") {
  Files files;
  const std::uint64_t size = 40 * mebibyte;
  DirectBlocks blocks(DirectBlocks::least_memory, 1, files.read());
  const auto turn = [&] {
    const int before = files.reads;
    for (std::uint64_t block = 0; block < 40; ++block) {
      Lease lease;
      blocks.want(1, size, {block * mebibyte, block * mebibyte + 1}, lease);
      blocks.find(1, block * mebibyte);
    }
    return files.reads - before;
  };
  CHECK(turn() == 33);  // twice the memory, and one
  for (int again = 0; again < 2; ++again) CHECK(turn() <= 1);
  int later = 0;
  for (int again = 0; again < 4; ++again) later += turn();
  CHECK(later > 16);
  CHECK(later < 4 * 40 / 2);
}

TEST_CASE("blocks that are used go on, however many there are") {
  Files files;
  const std::uint64_t size = 400 * mebibyte;
  DirectBlocks blocks(DirectBlocks::least_memory, 1, files.read());
  for (std::uint64_t block = 0; block < 400; ++block) {
    Lease lease;
    blocks.want(1, size, {block * mebibyte, (block + 1) * mebibyte}, lease);
    blocks.find(1, block * mebibyte);
    blocks.count_used(mebibyte);
  }
  CHECK(files.reads > 390);
}

TEST_CASE("threads that share blocks find each file's own bytes") {
  Files files;
  const std::uint64_t size = 64 * mebibyte;
  DirectBlocks blocks(DirectBlocks::least_memory, 8, files.read());
  std::vector<std::future<int>> threads;
  for (std::uint64_t file = 0; file < 4; ++file)
    threads.push_back(std::async(std::launch::async, [&, file] {
      int wrong = 0;
      for (std::uint64_t at = 8; at < size; at += mebibyte / 2) {
        Lease lease;
        blocks.want(file % 2, size, {at, at + 8}, lease);
        const auto held = blocks.find(file % 2, at);
        std::uint64_t word = files.word(file % 2, at);
        if (held.address != nullptr) std::memcpy(&word, held.address, sizeof word);
        wrong += word != files.word(file % 2, at) ? 1 : 0;
        blocks.count_used(mebibyte / 2);
      }
      return wrong;
    }));
  for (auto& thread : threads) CHECK(thread.get() == 0);
  CHECK(files.reads >= 64);
}

namespace {

/// A file of 3 MiB and some bytes, which the system was asked to forget.
struct ColdFile {
  ColdFile() {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = i | 1;
    file.write(0, std::as_bytes(std::span(words)).first(bytes));
    file.sync();
    file.drop_cached();
  }
  static constexpr std::uint64_t bytes = 3 * mebibyte + 20;
  fixture::TemporaryDirectory directory;
  PosixFile file = PosixFile::create(directory / "data");
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(bytes / 8 + 1);
};

}  // namespace

TEST_CASE("a file is read past the system's memory to its end, but for what is in that memory") {
  const ColdFile cold;
  const DirectFile direct(cold.file.fd(), cold.file.path());
  const Buffer buffer(4 * mebibyte);
  const auto out = buffer.first(ColdFile::bytes - mebibyte);
  if (direct.read(mebibyte, out) == DirectReadStatus::read)
    CHECK(std::memcmp(out.data(), cold.words.data() + mebibyte / 8, out.size()) == 0);
  else
    WARN("this file system keeps its files in memory, or reads them in no other way");
  cold.file.resize(2 * mebibyte);
  CHECK(direct.read(mebibyte, out) != DirectReadStatus::read);
  std::vector<std::byte> start(mebibyte);
  cold.file.read(0, start);
  CHECK(direct.read(0, buffer.first(mebibyte)) != DirectReadStatus::read);
}

TEST_CASE("what of a file is in memory is found out where the system does not tell of others' files") {
  if (::geteuid() != 0) return;  // only root can become somebody else
  const ColdFile cold;
  const bool is_told = !is_in_memory(cold.file.fd(), 0, ColdFile::bytes);
  const PosixFile file = PosixFile::open_for_reading(cold.directory / "data");
  const auto is_seen_by_another = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_other = ::setresuid(65534, 65534, 65534) == 0;
      ::_exit(!is_other ? 2 : is_in_memory(file.fd(), 0, ColdFile::bytes) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) < 2));
    return status == 0;
  };
  if (is_told) CHECK_FALSE(is_seen_by_another());
  std::vector<std::byte> all(ColdFile::bytes);
  file.read(0, all);
  CHECK(is_seen_by_another());
}
