#include "exchange/stretch_queue.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

/// Chunks by number, each of one transfer; what is asked for ahead is counted, and has room for some.
class NumberedWork final : public Workload {
 public:
  std::optional<Chunk> next() override {
    if (next_ == count) return std::nullopt;
    return Chunk{next_++, 0, {0, 1}, 1};
  }
  bool can_read_ahead() const override { return held_ < room; }
  void read_ahead(const Transfer& transfer, Lease& held) override {
    if (transfer.card == fails_at) throw Error(Kind::io, "a file that is gone");
    ++asked;
    ++held_;
    held.insert(std::shared_ptr<const void>(this, [this](const void*) { --held_; }));
  }
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    Transfer transfer;
    transfer.card = chunk.card;
    visit(transfer);
    return 1;
  }
  bool has_padding(const Chunk& /*chunk*/) const override { return false; }
  std::uint32_t owner(Position /*card*/) const override { return 0; }
  PartialSum read(const Transfer& /*transfer*/, std::byte* /*target*/, std::span<std::byte> /*scratch*/) override {
    return {};
  }
  std::size_t decoded_at_once() const override { return at_once; }
  std::optional<SourceChunk> decodes(const Chunk& chunk) const override {
    if (chunk.card % 10 == 9) return std::nullopt;
    return SourceChunk{0, 0, chunk.card / 10};
  }
  void write(const Chunk& /*chunk*/, std::span<std::byte> /*bytes*/, const PartialSum& /*read*/) override {}
  void count_exchanged(std::uint64_t /*bytes*/) override {}

  std::uint64_t count = 200;
  int room = 10;
  std::size_t at_once = 1;
  Position fails_at = ~Position{0};
  std::atomic<int> asked{0};

 private:
  std::uint64_t next_ = 0;
  std::atomic<int> held_{0};
};

/// The cards of all stretches that are dealt, in their order.
std::vector<Position> deal(StretchQueue& dealer) {
  std::vector<Position> cards;
  for (auto dealt = dealer.next(); !dealt.stretch.chunks.empty(); dealt = dealer.next())
    cards.push_back(dealt.stretch.chunks.front().card);
  return cards;
}

std::vector<Position> all_of(const NumberedWork& work) {
  std::vector<Position> cards(work.count);
  for (Position card = 0; card < work.count; ++card) cards[card] = card;
  return cards;
}

}  // namespace

TEST_CASE("stretches are dealt in order, to the last, as far as there is room for what they need") {
  NumberedWork work;
  work.room = GENERATE(0, 1, 10, 1000);
  StretchQueue dealer(work, 1);
  CHECK(deal(dealer) == all_of(work));
  CHECK(dealer.next().stretch.chunks.empty());
  if (work.room == 0) CHECK(work.asked == 0);
  if (work.room >= 10) CHECK(work.asked == 200);
}

TEST_CASE("what is dealt holds what was read ahead for it") {
  NumberedWork work;
  StretchQueue dealer(work, 1);
  const auto dealt = dealer.next();
  CHECK(dealt.lease.size() == 1);
  CHECK_FALSE(work.can_read_ahead());
}

TEST_CASE("threads share what is dealt, each stretch once") {
  NumberedWork work;
  StretchQueue dealer(work, 1);
  std::vector<std::future<std::vector<Position>>> threads;
  for (int i = 0; i < 4; ++i) threads.push_back(std::async(std::launch::async, [&] { return deal(dealer); }));
  std::vector<Position> cards;
  for (auto& thread : threads) {
    const auto some = thread.get();
    CHECK(std::is_sorted(some.begin(), some.end()));
    cards.insert(cards.end(), some.begin(), some.end());
  }
  std::sort(cards.begin(), cards.end());
  CHECK(cards == all_of(work));
}

TEST_CASE("a stretch whose chunk another thread decodes gives way to one that need not wait") {
  NumberedWork work;
  work.at_once = GENERATE(1, 2, 3);
  StretchQueue dealer(work, 1);
  const auto card = [](const StretchQueue::LeasedStretch& dealt) { return dealt.stretch.chunks.at(0).card; };
  auto first = std::make_optional(dealer.next());
  CHECK(card(*first) == 0);
  const auto second = dealer.next();
  if (work.at_once == 1) {
    CHECK(card(second) == 1);
    return;
  }
  CHECK(card(second) == 9);  // which needs no chunk
  const auto third = dealer.next();
  CHECK(card(third) == 10);
  const auto fourth = dealer.next();  // three chunks at once, if there is room for so many
  CHECK(card(fourth) == (work.at_once == 2 ? 1 : 19));
  first.reset();
  CHECK(card(dealer.next()) == (work.at_once == 2 ? 2 : 1));
}

TEST_CASE("all stretches are dealt, whatever is being decoded") {
  NumberedWork work;
  work.at_once = 4;
  StretchQueue dealer(work, 1);
  auto cards = deal(dealer);
  std::sort(cards.begin(), cards.end());
  CHECK(cards == all_of(work));
}

TEST_CASE("an error of one who asks ahead is thrown, and nobody waits for it") {
  NumberedWork work;
  work.fails_at = 30;
  StretchQueue dealer(work, 1);
  std::vector<std::future<bool>> threads;
  for (int i = 0; i < 4; ++i)
    threads.push_back(std::async(std::launch::async, [&] {
      try {
        deal(dealer);
        return false;
      } catch (const Error&) {
        return true;
      }
    }));
  int failed = 0;
  for (auto& thread : threads) failed += thread.get() ? 1 : 0;
  CHECK(failed == 1);
}
