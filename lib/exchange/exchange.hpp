#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/lease.hpp"
#include "plan/planner.hpp"
#include "processes/communicator.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Chunks that lie close together, one after another, in one file.
struct Stretch {
  std::vector<Chunk> chunks;
  std::vector<std::uint64_t> offsets;  ///< in memory: of each chunk's bytes from the first one's
  std::uint64_t bytes = 0;             ///< from the first chunk's first byte to the last one's last
  std::uint64_t place = 0;             ///< in its file: of the first chunk's first byte

  /// The system copies between memory and file a tenth slower where they begin at different places of a line.
  static constexpr std::uint64_t line = 64;
  /// Adds a chunk behind the others, so many bytes from the first one's.
  void add(const Chunk& chunk, std::uint64_t offset) {
    chunks.push_back(chunk);
    offsets.push_back(offset);
    bytes = offset + chunk.bytes;
  }
  /// Where in a line of memory it is best put together.
  std::uint64_t shift() const noexcept { return place % line; }

  /// Puts it together from `start` on, with zeros in its gaps: fill(i, place) puts down the bytes of chunk i, and gives
  /// the sum of what they were read from. Gives these sums.
  template <class Fill>
  std::vector<PartialSum> put_together(std::byte* start, const Fill& fill) const {
    std::vector<PartialSum> read;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      std::memset(start + end, 0, offsets[i] - end);
      read.push_back(fill(i, start + offsets[i]));
      end = offsets[i] + chunks[i].bytes;
    }
    return read;
  }
};

/// What an exchange moves, as one process sees it. Everything but `next` may be called from several
/// threads at once.
class Workload {
 public:
  virtual ~Workload() = default;

  /// The chunks that this process writes, one after the other; nothing when there are no more.
  virtual std::optional<Chunk> next() = 0;
  /// A chunk alone as a stretch.
  virtual Stretch alone(const Chunk& chunk) const { return {{chunk}, {0}, chunk.bytes}; }
  /// Adds the chunk that `next` gave after a stretch's last one to it, where that can be written with it and fits into
  /// `bytes`; gives whether that is so.
  virtual bool extend(Stretch& /*stretch*/, const Chunk& /*next*/, std::uint64_t /*bytes*/) const { return false; }
  /// Whether `read_ahead` begins to read, and has memory for more than what is held now.
  virtual bool can_read_ahead() const { return false; }
  /// Whether what is held is enough for now: what has time is better asked for later, in less memory.
  virtual bool is_far_ahead() const { return false; }
  /// Begins to read what a transfer needs, as far as there is room: it stays in memory as long as `held` does.
  virtual void read_ahead(const Transfer& /*transfer*/, Lease& /*held*/) {}
  /// The same of what `write` reads for a chunk.
  virtual void read_ahead_to_write(const Chunk& /*chunk*/, Lease& /*held*/) {}
  /// The transfers that make up a chunk, and the bytes that they fill.
  virtual std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const = 0;
  /// Whether the transfers of a chunk leave some of its bytes out: padding, which is zeros.
  virtual bool has_padding(const Chunk& chunk) const = 0;
  /// The process that reads a source card's file.
  virtual std::uint32_t owner(Position card) const = 0;
  /// Performs a transfer from the file of a card that this process owns: its first element goes to `target`. `scratch`
  /// is room that the caller lends for the time of the call. Gives the sum of what was read, as it lay in the file.
  virtual PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) = 0;
  /// Whether `write` waits for those of chunks that `next` gave before. Else chunks are written in any order.
  virtual bool is_written_in_order() const { return false; }
  /// `read`: the sums of all its transfers together. What is in `bytes` then is lost.
  virtual void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) = 0;
  /// The same for a stretch, whose gaps are zeros. `read`: of each chunk.
  virtual void write_stretch(const Stretch& stretch, std::span<std::byte> bytes, std::span<const PartialSum> read);
  /// Counts bytes that this process has sent to another one.
  virtual void count_exchanged(std::uint64_t bytes) = 0;
  /// Called, by any thread, while an error is handled that ends the exchange: a `write` that waits for others is to
  /// end.
  virtual void stop() noexcept {}
};

/// How bytes get from the processes that read to those that write.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const char* name() const noexcept = 0;
  /// The largest chunk that the workload may give, so that all staging stays within the memory given.
  virtual std::uint64_t chunk_bytes() const noexcept = 0;
  /// Staging memory of this process at its peak.
  virtual std::uint64_t staging_bytes() const noexcept = 0;
  /// Whether it asks for what it will read ahead of its turn (Workload::read_ahead), and so gains by it.
  virtual bool reads_ahead() const noexcept { return false; }
  /// Calls `write` once for every chunk, with all its bytes (padding is zeros). Where the work is written in order, a
  /// call may wait for those of chunks that `next` gave before: they need nothing from it. Collective; an error on any
  /// process is thrown on every one.
  virtual void run(Workload& work) = 0;
};

/// Staging memory and threads of each process.
struct Staging {
  std::uint64_t memory_bytes = 512ULL << 20;
  unsigned threads = 1;
  std::uint64_t device_memory_bytes = 2ULL << 30;  ///< of each process on its GPU
  std::chrono::seconds stall_limit{120};           ///< how long GPUs may make no progress
};

/// Every process reads what it writes: all see all source files.
std::unique_ptr<Exchange> direct_exchange(Communicator& processes, const Staging& staging);

/// Readers send to writers in rounds of bounded size. Round r + 1 is read while r is exchanged and r − 1 is written.
std::unique_ptr<Exchange> message_exchange(Communicator& processes, const Staging& staging);

/// The same through one GPU for each process, and NCCL between them. Throws io where a process has none.
std::unique_ptr<Exchange> nccl_exchange(Communicator& processes, const Staging& staging);

/// Why these processes cannot do that ("this build has no CUDA"): empty where each has a GPU of its own. Collective,
/// the same on every process.
std::string why_no_nccl(Communicator& processes);

}  // namespace ckpt
