#include "exchange/exchange.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "mpi/exchange_contract.hpp"

using namespace ckpt;

namespace {

/// Chunks of zeros at these places of a file, in a stretch where they are fewer than 100 bytes apart; notes where in a
/// line the memory of each stretch begins.
class StagedParameter final : public Workload {
 public:
  StagedParameter(std::vector<std::uint64_t> places, std::uint64_t bytes) : places_(std::move(places)), bytes_(bytes) {}

  std::optional<Chunk> next() override {
    return next_ == places_.size() ? std::nullopt : std::optional(Chunk{next_++, 0, {0, bytes_}, bytes_});
  }
  Stretch alone(const Chunk& chunk) const override { return {{chunk}, {0}, chunk.bytes, places_[chunk.card]}; }
  bool extend(Stretch& stretch, const Chunk& next, std::uint64_t bytes) const override {
    const std::uint64_t offset = places_[next.card] - stretch.place;
    if (offset < stretch.bytes || offset - stretch.bytes >= 100 || offset + next.bytes > bytes) return false;
    stretch.add(next, offset);
    return true;
  }
  std::uint64_t plan(const Chunk&, const Planner::Visit&) const override { return 0; }
  bool has_padding(const Chunk&) const override { return true; }
  std::uint32_t owner(Position) const override { return 0; }
  PartialSum read(const Transfer&, std::byte*, std::span<std::byte>) override { return {}; }
  void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) override {
    write_stretch(alone(chunk), bytes, {&read, 1});
  }
  void write_stretch(const Stretch& stretch, std::span<std::byte> bytes, std::span<const PartialSum> read) override {
    CHECK(bytes.size() == stretch.bytes);
    CHECK(read.size() == stretch.chunks.size());
    CHECK(std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    in_line.push_back(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64);
    std::fill(bytes.begin(), bytes.end(), std::byte{0x5A});
  }
  void count_exchanged(std::uint64_t) override {}

  std::vector<std::uint64_t> in_line;

 private:
  std::vector<std::uint64_t> places_;
  std::uint64_t bytes_;
  std::uint32_t next_ = 0;
};

}  // namespace

TEST_CASE("a stretch begins in memory where it begins in a line of its file") {
  const auto processes = single_process();
  for (const auto& make : {contract::MakeExchange(direct_exchange), contract::MakeExchange(message_exchange)}) {
    const auto exchange = make(*processes, {64 << 20, 1});
    for (const std::uint64_t bytes : {std::uint64_t{10}, exchange->chunk_bytes()}) {
      StagedParameter work({0, 539, 536'870'990, 4096, 63}, bytes);
      exchange->run(work);
      CHECK(work.in_line == std::vector<std::uint64_t>{0, 539 % 64, 536'870'990 % 64, 0, 63});
    }
  }
  StagedParameter too_large({0, 39}, 3 << 20);
  direct_exchange(*processes, {1 << 20, 1})->run(too_large);
  CHECK(too_large.in_line == std::vector<std::uint64_t>{0, 39});
}

TEST_CASE("chunks that lie close behind one another are written at once, with zeros between them") {
  const auto processes = single_process();
  for (const auto& make : {contract::MakeExchange(direct_exchange), contract::MakeExchange(message_exchange)}) {
    StagedParameter work({5, 40, 90, 300, 330, 1 << 20}, 20);
    make(*processes, {64 << 20, 1})->run(work);
    CHECK(work.in_line == std::vector<std::uint64_t>{5, 300 % 64, 0});
  }
}

TEST_CASE("one process alone keeps the exchange's contract, either way") {
  const auto processes = single_process();
  contract::exchange(*processes, direct_exchange);
  contract::exchange(*processes, message_exchange);
}

TEST_CASE("a chunk of no use of memory at all still goes") {
  const auto processes = single_process();
  for (const auto& make : {contract::MakeExchange(direct_exchange), contract::MakeExchange(message_exchange)})
    contract::carries(*processes, make, {0, 1}, [](std::uint64_t) {
      return contract::WorldMaker(3, 1, 1).add_chunk(0, 1).add_chunk(0, 70'000).take();
    });
}
