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
#include "plan/source_chunk.hpp"
#include "processes/communicator.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Chunks that are close together, in order, in one file.
struct Stretch {
  std::vector<Chunk> chunks;
  std::vector<std::uint64_t> offsets;  ///< in memory: offsets of each chunk's bytes from the first one's
  std::uint64_t bytes = 0;             ///< from the first chunk's first byte to the end of the last
  std::uint64_t place = 0;             ///< offset in its file of the first chunk's first byte
  std::vector<Interval> cloned = {};   ///< of the file's bytes from `place` on: those that it has before they are read

  /// Copies between memory and file are a tenth slower if they begin at different offsets within a cache line, and
  /// direct writes take whole pages.
  static constexpr std::uint64_t page = 4096;
  /// Adds a chunk after the others, at `offset` bytes from the first one.
  void add(const Chunk& chunk, std::uint64_t offset) {
    chunks.push_back(chunk);
    offsets.push_back(offset);
    bytes = offset + chunk.bytes;
  }
  /// Returns the offset within a page of memory at which to assemble the stretch.
  std::uint64_t shift() const noexcept { return place % page; }

  /// Assembles the stretch at `start`, with zeros in its gaps: fill(i, place) writes the bytes of chunk i, and returns
  /// the sum of what it read for them. Returns these sums.
  template <class Fill>
  std::vector<PartialSum> assemble_chunks(std::byte* start, const Fill& fill) const {
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

/// What an exchange moves, as one process sees it. Several threads may call everything except `next` at once.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Returns the chunks that this process writes, one after another; nothing at the end.
  virtual std::optional<Chunk> next() = 0;
  /// Returns a single chunk as a stretch.
  virtual Stretch alone(const Chunk& chunk) const { return {{chunk}, {0}, chunk.bytes}; }
  /// Extends a stretch by the chunk that `next` returned after the stretch's last one, if both can be written together
  /// and fit into `bytes`; returns whether it did.
  virtual bool extend(Stretch& /*stretch*/, const Chunk& /*next*/, std::uint64_t /*bytes*/) const { return false; }
  /// Returns whether `read_ahead` prefetches, and has memory for more than is held now.
  virtual bool can_read_ahead() const { return false; }
  /// Returns whether enough is held for now: later requests should come later, to save memory.
  virtual bool is_far_ahead() const { return false; }
  /// Starts reading what a transfer needs, as far as there is room: it stays in memory as long as `held` does.
  virtual void read_ahead(const Transfer& /*transfer*/, Lease& /*held*/) {}
  /// Starts reading what `write` reads for a chunk, as far as there is room: it stays in memory as long as `held` does.
  virtual void read_ahead_to_write(const Chunk& /*chunk*/, Lease& /*held*/) {}
  /// Returns how many large chunks of the sources fit into memory decoded. With two, threads can decode one each.
  virtual std::size_t decoded_at_once() const { return 1; }
  /// Returns which of them a chunk begins with, if the sources must decode it.
  virtual std::optional<SourceChunk> decodes(const Chunk& /*chunk*/) const { return std::nullopt; }
  /// Visits the transfers that make up a chunk, and returns the bytes that they fill.
  virtual std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const = 0;
  /// Returns whether the transfers of a chunk leave out some of its bytes: padding, which is zeros.
  virtual bool has_padding(const Chunk& chunk) const = 0;
  /// Returns the process that reads a source card's file.
  virtual std::uint32_t owner(Position card) const = 0;
  /// Lets the file share what it can of a stretch with the sources, and notes it there: `write_stretch` leaves that
  /// out. Called before the stretch's transfers, which all read from files of this process's own, and are performed
  /// all the same.
  virtual void clone(Stretch& /*stretch*/) {}
  /// Performs a transfer from the file of a card that this process owns: its first element goes to `target`. `scratch`
  /// is memory that the caller lends for the call. Returns the sum of what was read, by its place in the file.
  virtual PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) = 0;
  /// Returns whether `write` waits for the writes of earlier chunks from `next`. Otherwise chunks are written in any
  /// order.
  virtual bool is_written_in_order() const { return false; }
  /// Writes a chunk. `read`: the sum of all its transfers. It may overwrite `bytes`.
  virtual void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) = 0;
  /// Writes a stretch, whose gaps are zeros. `read`: the sum of each chunk's transfers. It may overwrite `bytes`.
  virtual void write_stretch(const Stretch& stretch, std::span<std::byte> bytes, std::span<const PartialSum> read);
  /// Counts bytes that this process has sent to another one.
  virtual void count_exchanged(std::uint64_t bytes) = 0;
  /// Called, by any thread, while the exchange ends because of an error: a `write` that waits for others must return.
  virtual void stop() noexcept {}
};

/// Moves bytes from the processes that read to those that write.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const char* name() const noexcept = 0;
  /// Returns the largest chunk that the workload may give, so that all staging stays within the memory given.
  virtual std::uint64_t chunk_bytes() const noexcept = 0;
  /// Returns the peak of this process's staging memory.
  virtual std::uint64_t staging_bytes() const noexcept = 0;
  /// Returns whether it calls Workload::read_ahead, and so benefits from prefetching.
  virtual bool reads_ahead() const noexcept { return false; }
  /// Has every chunk written once, by `write` or within a stretch by `write_stretch`, with all its bytes (padding is
  /// zeros). If the work is written in order, a call
  /// may wait for the writes of earlier chunks from `next`, which need nothing from it. Collective; an error on any
  /// process is thrown on all.
  virtual void run(Workload& work) = 0;
};

/// The staging memory and threads of each process.
struct Staging {
  std::uint64_t memory_bytes = 512ULL << 20;
  unsigned threads = 1;
  std::uint64_t device_memory_bytes = 2ULL << 30;  ///< of each process, on its GPU
  std::chrono::seconds stall_limit{120};           ///< how long GPUs may make no progress
  bool has_large_chunks = false;  ///< direct: chunks as large as memory allows, if much is decoded again for each
};

/// Returns an exchange in which every process reads what it writes: all see all source files.
std::unique_ptr<Exchange> direct_exchange(Communicator& processes, const Staging& staging);

/// Returns an exchange in which readers send to writers in rounds of bounded size. Round r + 1 is read while r is
/// exchanged and r − 1 is written.
std::unique_ptr<Exchange> message_exchange(Communicator& processes, const Staging& staging);

/// Returns an exchange in rounds through one GPU for each process, with NCCL between them. Throws io if a process
/// lacks a GPU.
std::unique_ptr<Exchange> nccl_exchange(Communicator& processes, const Staging& staging);

/// Returns why these processes cannot use NCCL ("this build has no CUDA"): empty if each has a GPU of its own.
/// Collective, with the same result on every process.
std::string why_no_nccl(Communicator& processes);

}  // namespace ckpt
