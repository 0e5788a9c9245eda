#include "checkpoint/content_sums.hpp"

#include <atomic>
#include <memory>
#include <random>

#include "catch.hpp"
#include "plan/chunk_sequence.hpp"
#include "plan/planner.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

using Bytes = std::vector<std::byte>;

/// Two parameters cut and padded over four cards, each on two of them.
const Layout& padded() {
  static const Layout layout = fixture::layout(
      R"(["r", "x"])", "[2, 2]",
      R"("parameters": [{"name": "a", "split": [null, "x"], "pad": {"1": {"size": 7, "multiple_of": 4}}}, {"name": "b"}])");
  return layout;
}

struct Job {
  Placement source = target(single_card(), {tensor("a", {5, 7}), tensor("b", {3})});
  Placement wanted = target(padded(), {tensor("a", {5, 7}), tensor("b", {3})});
  Readers readers{source, {}};
  Planner planner{source, wanted, {0, 1}, readers};
  std::vector<Bytes> stored{Bytes(5 * 7 * 4), Bytes(3 * 4)};  // by array of the source
  std::unique_ptr<Communicator> alone = single_process();

  Job() {
    std::mt19937 engine(4);
    for (Bytes& bytes : stored)
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + engine() % 255);
  }

  /// All chunks of all files: their bytes, and the sums of what is read for them.
  template <class Visit>
  void for_each_chunk(ContentSums& sums, Visit&& visit) const {
    ChunkSequence chunks(wanted, {0, 1, 2, 3}, 24);
    while (const auto chunk = chunks.next()) {
      Bytes bytes(chunk->bytes);
      PartialSum read;
      planner.for_each_transfer(*chunk, 0, [&](const Transfer& transfer) {
        const std::byte* from = stored[transfer.array].data() + transfer.source.offset * transfer.element;
        run(transfer.copy(), from, bytes.data() + transfer.target_offset);
        read += sums.key(transfer.parameter) * sum_of(transfer.source, transfer.element, from,
                                                      row_major_strides(source.tensors()[transfer.parameter].shape),
                                                      KeySets::low);
      });
      visit(*chunk, bytes, read);
    }
  }
};

}  // namespace

TEST_CASE(
    "what is written comes to what was read, and every parameter to itself, however it is cut, padded and repeated") {
  const Job job;
  ContentSums sums(job.wanted);
  job.for_each_chunk(sums, [&](const Chunk& chunk, const Bytes& bytes, const PartialSum& read) {
    const ChunkSums found = sums.of(chunk, bytes);
    CHECK(found.all == read);
    CHECK(found.has_clean_padding);
    sums.add(found);
  });
  const auto fingerprints = sums.of_parameters(*job.alone);
  CHECK(fingerprints[0] == fingerprint(sum_of(job.stored[0], 0), "a f32 [5, 7]"));
  CHECK(fingerprints[1] == fingerprint(sum_of(job.stored[1], 0), "b f32 [3]"));
  CHECK(sums.of_file(0) == sums.of_file(2));
  CHECK_FALSE(sums.of_file(0) == sums.of_file(1));
}

TEST_CASE("a chunk that is put together wrongly is found: shifted, a piece dropped, one byte changed") {
  const Job job;
  ContentSums sums(job.wanted);
  job.for_each_chunk(sums, [&](const Chunk& chunk, const Bytes& bytes, const PartialSum& read) {
    if (read.bytes < 8) return;
    Bytes shifted = bytes;
    std::rotate(shifted.begin(), shifted.begin() + 4, shifted.end());
    CHECK_FALSE(sums.of(chunk, shifted).all == read);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Bytes changed = bytes;
      changed[i] ^= std::byte{1};
      const ChunkSums found = sums.of(chunk, changed);
      const bool is_padding = bytes[i] == std::byte{0};  // which is not read
      CHECK((found.all == read) == is_padding);
      CHECK(found.has_clean_padding == !is_padding);
    }
    CHECK_FALSE(sums.of(chunk, Bytes(bytes.size())).all == read);
    CHECK_FALSE(sums.of(chunk, bytes).all == PartialSum{});
  });
}

TEST_CASE("a piece of zeros that was not read is found") {
  Job job;
  for (Bytes& bytes : job.stored) std::fill(bytes.begin(), bytes.end(), std::byte{0});
  ContentSums sums(job.wanted);
  job.for_each_chunk(sums, [&](const Chunk& chunk, const Bytes& bytes, PartialSum read) {
    if (read.bytes == 0) return;
    read.bytes -= 4;
    CHECK_FALSE(sums.of(chunk, bytes).all == read);
  });
}

TEST_CASE("a file's fingerprint covers its padding") {
  const Job job;
  ContentSums right(job.wanted);
  ContentSums wrong(job.wanted);
  job.for_each_chunk(right, [&](const Chunk& chunk, const Bytes& bytes, const PartialSum& read) {
    right.add(right.of(chunk, bytes));
    Bytes dirty = bytes;
    for (std::byte& byte : dirty)
      if (byte == std::byte{0}) byte = std::byte{9};
    const ChunkSums found = wrong.of(chunk, dirty);
    CHECK(found.all == read);
    wrong.add(found);
  });
  CHECK(right.of_file(0) == wrong.of_file(0));
  CHECK_FALSE(right.of_file(1) == wrong.of_file(1));  // columns 7 is padding
  CHECK(right.of_parameters(*job.alone) == wrong.of_parameters(*job.alone));
}

TEST_CASE("a chunk that was not written is found when the parameter is added up") {
  const Job job;
  ContentSums sums(job.wanted);
  bool is_first = true;
  job.for_each_chunk(sums, [&](const Chunk& chunk, const Bytes& bytes, const PartialSum&) {
    if (!is_first) sums.add(sums.of(chunk, bytes));
    is_first = false;
  });
  CHECK_THROWS_WITH(sums.of_parameters(*job.alone), Catch::Matchers::Contains("were written"));
}

TEST_CASE("what is read ahead for a chunk is held until it is summed, and no longer, whatever the threads") {
  const Job job;
  ContentSums sums(job.wanted);
  const ChunkSequence all(job.wanted, {0, 1, 2, 3}, 24);
  std::uint64_t chunks = 0;
  for (ChunkSequence each = all; each.next();) ++chunks;
  constexpr int room = 3;
  std::atomic<int> held{0};
  std::atomic<int> asked{0};
  std::atomic<std::uint64_t> read{0};
  const auto begin = [&](const Chunk&, Lease& lease) {
    ++asked;
    ++held;
    lease.insert(std::shared_ptr<const int>(new int(0), [&](const int* each) {
      --held;
      delete each;
    }));
  };
  const auto zeros = [&](const Chunk&, std::span<std::byte> bytes) {
    ++read;
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    return true;
  };
  sum_chunks(all, 4, zeros, sums, {[&] { return held < room; }, begin});
  CHECK(read == chunks);
  CHECK(asked > room);
  CHECK(held == 0);
}
