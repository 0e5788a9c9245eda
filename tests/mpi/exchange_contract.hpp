#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "exchange/exchange.hpp"

// What every Exchange promises, as functions that each process runs: the same cases over each of them.
namespace ckpt::contract {

using Bytes = std::vector<std::byte>;
using MakeExchange = std::function<std::unique_ptr<Exchange>(Communicator&, const Staging&)>;

/// A chunk with the transfers that make it up and what it must come to.
struct PlannedChunk {
  Chunk chunk;
  std::vector<Transfer> transfers;
  std::uint64_t filled = 0;
  PartialSum read;  ///< of all transfers
  Bytes expected;
};

/// The sum of what a transfer takes from a card.
inline PartialSum sum_of_read(const Transfer& transfer, const Bytes& card) {
  return sum_of(transfer.source, transfer.element, card.data() + transfer.source.offset * transfer.element, {1000, 1});
}

/// Random source cards and chunks, the same on every process.
struct World {
  std::vector<Bytes> cards;
  Owners owners;
  std::vector<std::vector<PlannedChunk>> of_process;
};

class WorldMaker {
 public:
  WorldMaker(std::uint64_t seed, int processes, std::uint64_t chunk_bytes)
      : engine_(seed), processes_(static_cast<std::uint64_t>(processes)), chunk_bytes_(chunk_bytes) {
    for (std::uint64_t card = 0; card < 2 * processes_ + 1; ++card) {
      Bytes bytes(card_bytes);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 31 + (i >> 8U) * 7 + card * 101 + 1);
      world_.cards.push_back(std::move(bytes));
      world_.owners.push_back(static_cast<std::uint32_t>(below(processes_)));
    }
    for (std::uint64_t p = 0; p < processes_; ++p)
      world_.owners[p] = static_cast<std::uint32_t>(p);  // everybody has one
    world_.of_process.resize(processes_);
  }

  /// Chunks of up to `chunk_bytes` for a process.
  WorldMaker& add(std::uint64_t process, std::size_t chunks) {
    for (std::size_t i = 0; i < chunks; ++i) add_chunk(process, 1 + below(below(3) == 0 ? 200 : chunk_bytes_));
    return *this;
  }
  /// A chunk of any size.
  WorldMaker& add_chunk(std::uint64_t process, std::uint64_t bytes) {
    auto& chunks = world_.of_process[process];
    PlannedChunk planned;
    planned.chunk = {chunks.size(), 0, {0, 1}, bytes};  // one element: no exchange divides it
    planned.expected.resize(bytes);
    for (std::uint64_t at = 0; at < bytes;) at += add_piece(planned, at);
    chunks.push_back(std::move(planned));
    return *this;
  }
  World take() { return std::move(world_); }

 private:
  static constexpr std::uint64_t card_bytes = 200'000;

  std::uint64_t below(std::uint64_t n) { return engine_() % n; }

  /// Padding, a run, or a box with strides on either side; gives the bytes of the chunk that it takes.
  std::uint64_t add_piece(PlannedChunk& planned, std::uint64_t at) {
    const std::uint64_t left = planned.chunk.bytes - at;
    if (below(6) == 0) return std::min<std::uint64_t>(left, 1 + below(300));
    const std::uint64_t element = std::min<std::uint64_t>(left, 1 + below(5));
    const bool is_run = below(4) == 0;
    const std::uint64_t columns = std::min(left / element, 1 + below(is_run ? 20'000 : 40));
    const std::uint64_t rows = is_run ? 1 : std::min(left / element / columns, 1 + below(40));
    const bool is_transposed = below(3) == 0;
    const bool is_by_column = !is_run && below(3) == 0;
    const Shape source_strides = is_by_column ? Shape{1, rows + below(30)} : Shape{columns + below(30), 1};
    Transfer transfer;
    transfer.card = below(world_.cards.size());
    const std::uint64_t span = ((rows - 1) * source_strides[0] + (columns - 1) * source_strides[1] + 1) * element;
    const std::uint64_t first = below((card_bytes - span) / element + 1);
    transfer.element = element;
    transfer.source = {Box{{3, 7}, {3 + rows, 7 + columns}}, first, source_strides};
    transfer.target_offset = at;
    transfer.target_strides = is_transposed ? Shape{1, rows} : Shape{columns, 1};
    planned.read += sum_of_read(transfer, world_.cards[transfer.card]);
    for (std::uint64_t r = 0; r < rows; ++r)
      for (std::uint64_t c = 0; c < columns; ++c)
        for (std::uint64_t b = 0; b < element; ++b)
          planned.expected[at + (is_transposed ? c * rows + r : r * columns + c) * element + b] =
              world_.cards[transfer.card][(first + r * source_strides[0] + c * source_strides[1]) * element + b];
    planned.filled += rows * columns * element;
    planned.transfers.push_back(transfer);
    return rows * columns * element;
  }

  std::mt19937_64 engine_;
  std::uint64_t processes_;
  std::uint64_t chunk_bytes_;
  World world_;
};

/// One process's view of a world, whose chunks are written in any order, or in theirs: then a later one waits. Notes
/// what is wrong instead of checking: it is called from several threads.
class MemoryWorkload final : public Workload {
 public:
  MemoryWorkload(const World& world, const Communicator& processes, bool everybody_reads, bool is_in_order)
      : world_(world),
        rank_(static_cast<std::uint32_t>(processes.rank())),
        everybody_reads_(everybody_reads),
        is_in_order_(is_in_order),
        delivered_(mine().size(), 0) {}

  /// Throws at the nth call of what is named: "next", "plan", "read" or "write".
  void fail_at(std::string what, int nth) {
    fails_ = std::move(what);
    countdown_ = nth;
  }

  std::optional<Chunk> next() override {
    maybe_fail("next");
    if (next_ == mine().size()) return std::nullopt;
    return mine()[next_++].chunk;
  }
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    maybe_fail("plan");
    const PlannedChunk& planned = mine()[chunk.card];
    for (const Transfer& transfer : planned.transfers) visit(transfer);
    return planned.filled;
  }
  bool has_padding(const Chunk& chunk) const override { return mine()[chunk.card].filled < chunk.bytes; }
  std::uint32_t owner(Position card) const override { return world_.owners[card]; }
  PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) override {
    maybe_fail("read");
    if (!everybody_reads_ && owner(transfer.card) != rank_) note("a card of another process is read");
    std::fill(scratch.begin(), scratch.end(), std::byte{0x5A});  // it is the reader's for the time of the call
    bytes_read_ += transfer.bytes();
    const Bytes& card = world_.cards[transfer.card];
    ckpt::run(transfer.copy(), card.data() + transfer.source.offset * transfer.element, target);
    return sum_of_read(transfer, card);
  }
  bool is_written_in_order() const override { return is_in_order_; }
  void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) override {
    try {
      maybe_fail("write");
    } catch (...) {
      stop();
      throw;
    }
    std::unique_lock lock(mutex_);
    const auto is_turn = [&] { return chunk.card == 0 || delivered_.at(chunk.card - 1) > 0; };
    if (is_in_order_) turn_.wait(lock, [&] { return why_ || is_turn(); });
    if (why_) std::rethrow_exception(why_);
    ++delivered_.at(chunk.card);
    turn_.notify_all();
    const Bytes& expected = mine()[chunk.card].expected;
    if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()))
      wrong_.push_back("chunk " + std::to_string(chunk.card) + " differs");
    if (read != mine()[chunk.card].read)
      wrong_.push_back("chunk " + std::to_string(chunk.card) + ": the sum is not that of what was read");
  }
  void count_exchanged(std::uint64_t bytes) override { exchanged_ += bytes; }
  void stop() noexcept override {
    const std::lock_guard lock(mutex_);
    if (!why_) why_ = std::current_exception();
    turn_.notify_all();
  }

  /// What went wrong, or nothing: to be asked after run().
  std::string wrong() const {
    for (std::size_t i = 0; i < delivered_.size(); ++i)
      if (delivered_[i] != 1)
        return "chunk " + std::to_string(i) + " is delivered " + std::to_string(delivered_[i]) + " times";
    return wrong_.empty() ? "" : wrong_.front();
  }
  std::uint64_t exchanged() const { return exchanged_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  /// Bytes of all processes' chunks that this one sends to others.
  std::uint64_t to_send() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t p = 0; p < world_.of_process.size(); ++p)
      for (const PlannedChunk& planned : world_.of_process[p])
        for (const Transfer& transfer : planned.transfers)
          if (p != rank_ && owner(transfer.card) == rank_) bytes += transfer.bytes();
    return bytes;
  }

 private:
  const std::vector<PlannedChunk>& mine() const { return world_.of_process[rank_]; }
  void maybe_fail(const char* what) const {
    if (fails_ == what && countdown_-- == 0)
      throw Error(Kind::io, "process " + std::to_string(rank_) + ": " + what + " failed");
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    wrong_.push_back(what);
  }

  const World& world_;
  std::uint32_t rank_;
  bool everybody_reads_;
  bool is_in_order_;
  std::size_t next_ = 0;
  std::string fails_;
  mutable std::atomic<int> countdown_{0};
  std::mutex mutex_;
  std::condition_variable turn_;
  std::exception_ptr why_;
  std::vector<int> delivered_;
  std::vector<std::string> wrong_;
  std::atomic<std::uint64_t> exchanged_{0};
  std::atomic<std::uint64_t> bytes_read_{0};
};

/// Runs a world through a new exchange and checks that each chunk came once and right.
inline void carries(Communicator& processes, const MakeExchange& make, const Staging& staging,
                    const std::function<World(std::uint64_t chunk_bytes)>& world_of) {
  const auto exchange = make(processes, staging);
  const bool is_direct = std::string(exchange->name()) == "direct";
  const World world = world_of(exchange->chunk_bytes());
  for (const bool is_in_order : {true, false}) {
    MemoryWorkload work(world, processes, is_direct, is_in_order);
    exchange->run(work);
    CAPTURE(processes.rank(), staging.memory_bytes, staging.threads, is_in_order);
    CHECK(work.wrong() == "");
    CHECK(work.exchanged() == (is_direct ? 0 : work.to_send()));
  }
}

inline void carries_any(Communicator& processes, const MakeExchange& make) {
  const int size = processes.size();
  for (const std::uint64_t memory : {64ULL << 10, 1ULL << 20, 16ULL << 20})  // many rounds, some, one
    for (const unsigned threads : {1U, 3U})
      carries(processes, make, {memory, threads}, [&](std::uint64_t chunk_bytes) {
        WorldMaker maker(memory + threads, size, std::min<std::uint64_t>(chunk_bytes, 60'000));
        for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(size); ++p) maker.add(p, 15 + 5 * p);
        return maker.take();
      });
}

inline void carries_to_some(Communicator& processes, const MakeExchange& make) {
  for (const std::uint64_t writer : {0, processes.size() - 1})
    carries(processes, make, {64ULL << 10, 2}, [&](std::uint64_t chunk_bytes) {
      return WorldMaker(7, processes.size(), chunk_bytes).add(writer, 20).take();
    });
  carries(processes, make, {1ULL << 20, 1},
          [&](std::uint64_t) { return WorldMaker(8, processes.size(), 1).take(); });  // nothing to do
}

/// A single element may be larger than any chunk ought to be.
inline void carries_giants(Communicator& processes, const MakeExchange& make) {
  carries(processes, make, {64ULL << 10, 2}, [&](std::uint64_t chunk_bytes) {
    WorldMaker maker(9, processes.size(), chunk_bytes);
    for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(processes.size()); p += 2)
      maker.add(p, 3).add_chunk(p, 300'000).add(p, 3);
    return maker.take();
  });
}

/// Whatever fails on whichever process: the same error on every one, and the processes can go on together afterwards.
inline void fails_together(Communicator& processes, const MakeExchange& make) {
  const Staging staging{64ULL << 10, 2};
  for (const char* what : {"next", "plan", "read", "write"})
    for (int failing = 0; failing < processes.size(); ++failing)
      for (const auto& [nth, in_order] : {std::pair(0, true), std::pair(5, true), std::pair(5, false)}) {
        const auto exchange = make(processes, staging);
        WorldMaker maker(failing + 1, processes.size(), exchange->chunk_bytes());
        for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(processes.size()); ++p) maker.add(p, 20);
        const World world = maker.take();
        MemoryWorkload work(world, processes, std::string(exchange->name()) == "direct", in_order);
        if (processes.rank() == failing) work.fail_at(what, nth);
        std::string text = "nothing was thrown";
        try {
          exchange->run(work);
        } catch (const Error& error) {
          text = error.what();
        }
        CAPTURE(what, failing, nth, in_order, processes.rank());
        CHECK(text == "process " + std::to_string(failing) + ": " + what + " failed");
        CHECK(processes.failed_together());
      }
  carries_any(processes, make);
}

/// What is said to be staged is within what is given, and a chunk is some part of it.
inline void keeps_to_its_memory(Communicator& processes, const MakeExchange& make) {
  for (const std::uint64_t mebibytes : {2U, 8U, 128U, 512U, 4096U})
    for (const unsigned threads : {1U, 2U, 8U, 16U}) {
      const auto exchange = make(processes, {mebibytes << 20U, threads});
      CAPTURE(mebibytes, threads);
      CHECK(exchange->staging_bytes() <= mebibytes << 20U);
      CHECK(exchange->chunk_bytes() >= 4096);
      CHECK(exchange->chunk_bytes() <= 16ULL << 20);
      CHECK(exchange->chunk_bytes() <= mebibytes << 20U);
    }
  for (const std::uint64_t memory : {0ULL, 1ULL, 1000ULL, 70'000ULL})
    CHECK(make(processes, {memory, 4})->chunk_bytes() <= 1ULL << 20);
}

inline void exchange(Communicator& processes, const MakeExchange& make) {
  keeps_to_its_memory(processes, make);
  carries_any(processes, make);
  carries_to_some(processes, make);
  carries_giants(processes, make);
  fails_together(processes, make);
}

}  // namespace ckpt::contract
