#include "exchange/rounds.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "played_process.hpp"

using namespace ckpt;

namespace {

constexpr std::uint64_t part = 8 << 20;
constexpr std::uint64_t cost = 512;  // of a transfer, at least

/// Work that is planned only. Cards are as many as processes, each of which owns one.
class PlannedWork : public Workload {
 public:
  bool has_padding(const Chunk&) const override { return false; }
  std::uint32_t owner(Position card) const override { return static_cast<std::uint32_t>(card); }
  PartialSum read(const Transfer&, std::byte*, std::span<std::byte>) override { return {}; }
  void write(const Chunk&, std::span<std::byte>, const PartialSum&) override {}
  void count_exchanged(std::uint64_t) override {}
};

/// Chunks of elements of four bytes, each of which comes by itself, from this process or from the other one.
class Scattered final : public PlannedWork {
 public:
  Scattered(std::vector<std::uint64_t> chunks, std::uint64_t transfers_of_element)
      : chunks_(std::move(chunks)), transfers_of_element_(transfers_of_element) {}

  std::optional<Chunk> next() override {
    if (next_ == chunks_.size()) return std::nullopt;
    const std::uint64_t elements = chunks_[next_];
    return Chunk{next_++, 0, {0, elements}, elements * 4};
  }
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    for (std::uint64_t i = 0; i < chunk.elements.size() * transfers_of_element_; ++i) {
      Transfer transfer;
      transfer.card = i % 3 == 0 ? 0 : 1;
      transfer.element = 4;
      transfer.source = {Box{{i}, {i + 1}}, i, {1}};
      transfer.target_offset = i / transfers_of_element_ * 4;
      transfer.target_strides = {1};
      visit(transfer);
    }
    return chunk.bytes;
  }

 private:
  std::vector<std::uint64_t> chunks_;
  std::uint64_t transfers_of_element_;
  std::uint32_t next_ = 0;
};

/// Chunks of one transfer each; every fourth is another process's.
class Whole final : public PlannedWork {
 public:
  Whole(std::uint32_t count, std::uint64_t elements) : count_(count), elements_(elements) {}

  std::optional<Chunk> next() override {
    if (next_ == count_) return std::nullopt;
    return Chunk{next_++, 0, {0, elements_}, 4 * elements_};
  }
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    Transfer transfer;
    transfer.card = chunk.card % 4 == 0 ? 1 : 0;
    transfer.element = 4;
    transfer.source = {Box{{0}, {elements_}}, 0, {1}};
    transfer.target_strides = {1};
    visit(transfer);
    return chunk.bytes;
  }

 private:
  std::uint32_t count_;
  std::uint64_t elements_;
  std::uint32_t next_ = 0;
};

/// The next round of process 0 of two, of which the other grants as much as it may: empty where there is none.
RoundPlan next_round(Rounds& rounds, Workload& work, std::uint64_t round) {
  RoundPlan plan;
  rounds.plan_ahead(work);
  const auto round_requests = rounds.round_requests();
  if (!round_requests[1].has_more) return plan;
  rounds.set_grants({0, grant_round(part, round, {round_requests[1], {}})[0]});
  rounds.take_chunks(plan);
  return plan;
}

std::uint64_t transfers_of(const RoundPlan& plan) {
  std::uint64_t count = 0;
  for (const ChunkInRound& chunk : plan.chunks) count += chunk.local.size() + chunk.pieces.size();
  return count;
}

}  // namespace

TEST_CASE("chunks of very many pieces are divided: what is planned of a round stays within its memory") {
  fixture::Played self(0, 2);
  Rounds rounds(self, part);
  const std::vector<std::uint64_t> chunks{rounds.chunk_bytes() / 4, 5, rounds.chunk_bytes() / 4 - 3, 1};
  Scattered work(chunks, 1);
  std::vector<std::uint64_t> done(chunks.size(), 0);
  std::uint64_t round = 0;
  for (;; ++round) {
    const RoundPlan plan = next_round(rounds, work, round);
    if (plan.chunks.empty()) break;
    std::uint64_t bytes = 0;
    for (const ChunkInRound& each : plan.chunks) {
      CHECK(each.chunk.elements.lo == done.at(each.chunk.card));
      CHECK(each.chunk.bytes == each.chunk.elements.size() * 4);
      CHECK(each.local.size() + each.pieces.size() == each.chunk.elements.size());
      done[each.chunk.card] = each.chunk.elements.hi;
      bytes += each.chunk.bytes;
    }
    CHECK(transfers_of(plan) * cost + bytes <= part);
  }
  CHECK(done == chunks);
  // And rounds, but for the first three, are not much smaller than they may be.
  CHECK(round <= 3 + 2 * (2 * rounds.chunk_bytes() / 4 * cost / part));
}

TEST_CASE("the first rounds are smaller: the first bytes are soon on their way") {
  fixture::Played self(0, 2);
  Rounds rounds(self, part);
  Whole work(400, 16 << 10);
  std::vector<std::uint64_t> rooms;
  for (std::uint64_t round = 0; round < 5; ++round) rooms.push_back(next_round(rounds, work, round).room);
  constexpr std::uint64_t chunk = (64 << 10) + 2 * cost;
  for (std::size_t round = 0; round < rooms.size(); ++round) {
    const std::uint64_t most = part >> (round < 3 ? 3 - round : 0);
    CHECK(rooms[round] <= most);
    CHECK(rooms[round] + chunk > most);
  }
}

TEST_CASE("a single element is not divided, however many pieces it has") {
  fixture::Played self(0, 2);
  Rounds rounds(self, part);
  Scattered work({1}, 20'000);
  const RoundPlan plan = next_round(rounds, work, 0);
  REQUIRE(plan.chunks.size() == 1);
  CHECK(transfers_of(plan) == 20'000);
  CHECK(next_round(rounds, work, 1).chunks.empty());
}

TEST_CASE("a chunk that needs nothing from others takes no memory of a round, and a quarter of its room") {
  fixture::Played self(0, 2);
  Rounds rounds(self, part);
  const std::uint64_t elements = rounds.chunk_bytes() / 16;
  const std::uint64_t bytes = 4 * elements;
  Whole work(40, elements);
  SECTION("where it may") {
    rounds.set_own_bytes(bytes);
    const RoundPlan plan = next_round(rounds, work, 0);
    CHECK(plan.chunk_bytes < plan.chunks.size() * bytes / 2);  // every fourth is another's
    std::uint64_t end = 0;
    for (const ChunkInRound& each : plan.chunks) {
      CHECK(each.is_own == each.pieces.empty());
      CHECK(each.offset == end);
      if (!each.is_own) end += bytes;
      CHECK(each.room == (each.is_own ? bytes / 4 : bytes) + 2 * cost);
    }
    CHECK(end == plan.chunk_bytes);
  }
  SECTION("not where it is larger than a thread's memory") {
    rounds.set_own_bytes(bytes - 1);
    const RoundPlan plan = next_round(rounds, work, 0);
    CHECK(plan.chunk_bytes == plan.chunks.size() * bytes);
    CHECK(std::none_of(plan.chunks.begin(), plan.chunks.end(), [](const ChunkInRound& each) { return each.is_own; }));
  }
}
