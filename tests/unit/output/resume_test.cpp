#include "output/resume.hpp"

#include "catch.hpp"
#include "unit/memory_move.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// A move that was interrupted when all was written, and what its journal says.
struct Interrupted {
  Memory memory{GENERATE(0U, 24U)};
  std::unique_ptr<Move> cut;
  std::vector<JournalRecord> records;
  std::vector<Chunk> chunks;

  Interrupted() {
    make_whole(memory, "/in/whole");
    cut = std::make_unique<Move>(memory, "/in/whole", single_card(), four_cards());
    cut->whole();
    ChunkSequence sequence = cut->chunks();
    while (const auto chunk = sequence.next()) {
      std::vector<std::byte> bytes(chunk->bytes);
      cut->files().read(*chunk, bytes);
      chunks.push_back(*chunk);
      records.push_back({chunk->card, chunk->array, chunk->elements, cut->sums().of(*chunk, bytes).all});
    }
    cut->make_files(true);  // as the run that goes on finds them
  }

  struct Found {
    Finished finished;
    std::uint64_t bytes = 0;
  };
  Found check() {
    ContentSums sums(cut->target());
    Found found;
    found.finished = check_finished(records, cut->target(), cut->files(), 3, sums, found.bytes);
    return found;
  }
  bool is_finished(const Found& found, const Chunk& chunk) const {
    return found.finished.rest(chunk.card, chunk.array, chunk.elements).empty();
  }
  std::uint64_t all_bytes() const {
    std::uint64_t bytes = 0;
    for (const Chunk& chunk : chunks) bytes += chunk.bytes;
    return bytes;
  }
};

}  // namespace

TEST_CASE("records go to those who write their elements; what no placement has goes to nobody") {
  Interrupted job;
  const Placement& target = job.cut->target();
  const auto alone = single_process();
  auto records = job.records;
  records.push_back({target.mesh().size(), 0, {0, 1}, {}});
  records.push_back({0, target.arrays().size(), {0, 1}, {}});
  records.push_back({0, records.front().array, {1ULL << 40, 1ULL << 41}, {}});
  CHECK(own_records(records, target, WriteShares(target, 1), *alone) == job.records);
}

TEST_CASE("what the journal tells of and the files hold need not be written again") {
  Interrupted job;
  REQUIRE(job.chunks.size() > 10);
  const auto found = job.check();
  for (const Chunk& chunk : job.chunks) CHECK(job.is_finished(found, chunk));
  CHECK(found.bytes == job.all_bytes());
}

TEST_CASE("a chunk whose bytes, or whose padding, are not what was written is written again, and no other") {
  Interrupted job;
  for (const std::size_t at : {std::size_t{0}, job.chunks.size() / 2, job.chunks.size() - 1}) {
    const Chunk& damaged = job.chunks[at];
    for (const std::uint64_t offset : {std::uint64_t{0}, damaged.bytes - 1}) {
      std::vector<std::byte> bytes(damaged.bytes);
      job.cut->files().read(damaged, bytes);
      bytes[offset] ^= std::byte{16};
      job.cut->files().write(damaged, bytes);
      const auto found = job.check();
      for (const Chunk& chunk : job.chunks) CHECK(job.is_finished(found, chunk) == (&chunk != &damaged));
      CHECK(found.bytes == job.all_bytes() - damaged.bytes);
      bytes[offset] ^= std::byte{16};
      job.cut->files().write(damaged, bytes);
    }
  }
}

TEST_CASE("records that make no sense, that come twice, or of files that are not kept are passed over") {
  Interrupted job;
  const JournalRecord good = job.records.front();
  job.records.assign({good, good});
  for (const JournalRecord& wrong :
       {JournalRecord{good.card, 1000, good.elements, good.read},
        JournalRecord{99, good.array, good.elements, good.read},
        JournalRecord{good.card, good.array, {good.elements.hi, good.elements.lo}, good.read},
        JournalRecord{good.card, good.array, {good.elements.lo, 1ULL << 60}, good.read}})
    job.records.push_back(wrong);
  CHECK(job.check().bytes == job.chunks.front().bytes);
  job.memory.files->put(job.cut->file(good.card), "something else");
  Move again(job.memory, "/in/whole", single_card(), four_cards());
  again.create(true);  // new files: none is kept
  ContentSums sums(again.target());
  std::uint64_t bytes = 0;
  CHECK(check_finished(job.records, again.target(), again.files(), 2, sums, bytes).empty());
  CHECK(bytes == 0);
}
