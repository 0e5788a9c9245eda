#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/buffer.hpp"
#include "base/workers.hpp"
#include "exchange/exchange.hpp"
#include "exchange/stretch_queue.hpp"

namespace ckpt {

namespace {

// Twice the size of a core's own cache on today's servers, but no more than the largest block of memory in which the
// system keeps a file: with smaller blocks, a large file takes longer.
constexpr std::uint64_t best_local_chunk = 2ULL << 20;
/// The most that one record of a journal covers.
constexpr std::uint64_t largest_chunk = 256ULL << 20;
constexpr std::uint64_t best_scratch = 256ULL << 10;

// Clearing so little takes less time than finding out whether it is necessary.
constexpr std::uint64_t small = 4096;

class DirectExchange final : public Exchange {
 public:
  DirectExchange(Communicator& processes, const Staging& staging)
      : processes_(processes),
        threads_(static_cast<unsigned>(
            std::clamp<std::uint64_t>(staging.memory_bytes / (256ULL << 10), 1, std::max(staging.threads, 1U)))) {
    const std::uint64_t each = staging.memory_bytes / threads_;
    scratch_bytes_ = std::min(best_scratch, each / 3);
    const std::uint64_t rest = each - scratch_bytes_;
    chunk_bytes_ =
        std::min(staging.has_large_chunks ? largest_chunk : best_local_chunk, rest - std::min(rest, Stretch::page));
  }

  const char* name() const noexcept override { return "direct"; }
  std::uint64_t chunk_bytes() const noexcept override { return chunk_bytes_; }
  std::uint64_t staging_bytes() const noexcept override {
    return threads_ * (chunk_bytes_ + Stretch::page + scratch_bytes_);
  }

  bool reads_ahead() const noexcept override { return true; }

  void run(Workload& work) override {
    agree(processes_, [&] {
      Workers workers(threads_);
      TaskGroup tasks(workers);
      StretchQueue dealer(work, chunk_bytes_);
      std::atomic<bool> stop{false};
      for (unsigned i = 0; i < threads_; ++i)
        tasks.run([&] {
          try {
            move(work, dealer, stop);
          } catch (...) {
            stop = true;
            work.stop();
            throw;
          }
        });
      tasks.wait();
    });
  }

 private:
  /// One thread's part: assembles stretch after stretch in memory, and writes each at once.
  void move(Workload& work, StretchQueue& dealer, const std::atomic<bool>& stop) const {
    const Buffer scratch(scratch_bytes_);
    Buffer buffer(chunk_bytes_ + Stretch::page);
    while (!stop) {
      StretchQueue::LeasedStretch leased = dealer.next();
      Stretch& stretch = leased.stretch;
      if (stretch.chunks.empty()) return;
      work.clone(stretch);
      const std::uint64_t room = stretch.shift() + stretch.bytes;
      if (room > buffer.size()) buffer = Buffer(room);  // a single element may be so large
      std::byte* const start = buffer.data() + stretch.shift();
      const auto read = stretch.assemble_chunks(
          start, [&](std::size_t i, std::byte* place) { return assemble(work, stretch.chunks[i], place, scratch); });
      work.write_stretch(stretch, {start, stretch.bytes}, read);
    }
  }

  /// Performs transfers as they are found instead of collecting them: a chunk of fused parts may have a great many.
  static PartialSum assemble(Workload& work, const Chunk& chunk, std::byte* place, const Buffer& scratch) {
    if (chunk.bytes <= small || work.has_padding(chunk)) std::memset(place, 0, chunk.bytes);
    PartialSum read;
    work.plan(chunk, [&](const Transfer& transfer) {
      read += work.read(transfer, place + transfer.target_offset, scratch.first(scratch.size()));
    });
    return read;
  }

  Communicator& processes_;
  unsigned threads_;
  std::uint64_t chunk_bytes_ = 0;
  std::uint64_t scratch_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> direct_exchange(Communicator& processes, const Staging& staging) {
  return std::make_unique<DirectExchange>(processes, staging);
}

}  // namespace ckpt
