#include "exchange/exchange.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "mpi/exchange_contract.hpp"

using namespace ckpt;

namespace {

/// Chunks of zeros at these places of a file, one a stretch; notes where in a line their memory begins.
class Placed final : public Workload {
 public:
  Placed(std::vector<std::uint64_t> places, std::uint64_t bytes) : places_(std::move(places)), bytes_(bytes) {}

  std::optional<Chunk> next() override {
    return next_ == places_.size() ? std::nullopt : std::optional(Chunk{next_++, 0, {0, bytes_}, bytes_});
  }
  Stretch next_stretch(std::uint64_t bytes) override {
    Stretch stretch = Workload::next_stretch(bytes);
    if (!stretch.chunks.empty()) stretch.place = places_[stretch.chunks[0].card];
    return stretch;
  }
  std::uint64_t plan(const Chunk&, const Planner::Visit&) const override { return 0; }
  bool has_padding(const Chunk&) const override { return true; }
  std::uint32_t owner(Position) const override { return 0; }
  PartialSum read(const Transfer&, std::byte*, std::span<std::byte>) override { return {}; }
  void write(const Chunk&, std::span<std::byte> bytes, const PartialSum&) override {
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
  const auto processes = solo();
  for (const std::uint64_t bytes :
       {std::uint64_t{10}, direct_exchange(*processes, {1 << 20, 1})->chunk_bytes(), std::uint64_t{3} << 20}) {
    Placed work({0, 39, 536'870'990, 4096, 63}, bytes);
    direct_exchange(*processes, {1 << 20, 1})->run(work);
    CHECK(work.in_line == std::vector<std::uint64_t>{0, 39, 536'870'990 % 64, 0, 63});
  }
}

TEST_CASE("one process alone keeps the exchange's contract, either way") {
  const auto processes = solo();
  contract::exchange(*processes, direct_exchange);
  contract::exchange(*processes, message_exchange);
}

TEST_CASE("a chunk of no use of memory at all still goes") {
  const auto processes = solo();
  for (const auto& make : {contract::MakeExchange(direct_exchange), contract::MakeExchange(message_exchange)})
    contract::carries(*processes, make, {0, 1}, [](std::uint64_t) {
      return contract::WorldMaker(3, 1, 1).add_chunk(0, 1).add_chunk(0, 70'000).take();
    });
}
