#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/buffer.hpp"
#include "base/workers.hpp"
#include "exchange/exchange.hpp"
#include "exchange/request.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t best_message_chunk = 4ULL << 20;
constexpr std::uint64_t best_message_scratch = 1ULL << 20;
constexpr std::uint64_t task_bytes = 1ULL << 20;  // reads of one task of a reader's thread, about
constexpr std::uint64_t least_cost = 512;         // of a transfer, in bytes of a round: its request has a size too

/// A chunk on its way, and the pieces of it that peers send.
struct ChunkInRound {
  struct Piece {
    std::uint32_t peer;
    std::uint64_t message_offset;
    Transfer transfer;
  };
  Chunk chunk;
  std::uint64_t staging_offset = 0;
  bool has_padding = false;
  std::vector<Transfer> local;
  PartialSum read;  // of the local ones
  std::vector<Piece> pieces;
};

/// One round's worth of everything. Two of them take turns.
struct Round {
  explicit Round(Workers& workers) : reads(workers), writes(workers) {}

  std::vector<ChunkInRound> chunks;
  std::vector<std::string> requests;           // to each peer
  std::vector<std::uint64_t> receive_offsets;  // of each peer's message in `received`
  std::vector<std::uint64_t> receive_sizes;
  std::vector<std::uint64_t> send_offsets;
  std::vector<std::uint64_t> send_sizes;
  Buffer staging;  // chunks
  Buffer received;
  Buffer sent;
  TaskGroup reads;
  TaskGroup writes;
};

void grow(Buffer& buffer, std::uint64_t bytes) {
  if (buffer.size() < bytes) buffer = Buffer(bytes);
}

class MessageExchange final : public Exchange {
 public:
  MessageExchange(Communicator& processes, const Staging& staging)
      : processes_(processes),
        peers_(static_cast<std::uint64_t>(processes.size())),
        threads_(std::max(staging.threads, 1U)) {
    scratch_bytes_ =
        std::clamp<std::uint64_t>(staging.memory_bytes / (8ULL * threads_), 64ULL << 10, best_message_scratch);
    const std::uint64_t left = staging.memory_bytes - std::min(staging.memory_bytes / 2, scratch_bytes_ * threads_);
    part_bytes_ = left / 6;  // two rounds of chunks, messages received and messages sent
    peer_bytes_ = std::max<std::uint64_t>(part_bytes_ / peers_, 4096);
    chunk_bytes_ = std::min(best_message_chunk, peer_bytes_);
  }

  const char* name() const noexcept override { return "mpi"; }
  std::uint64_t chunk_bytes() const noexcept override { return chunk_bytes_; }
  std::uint64_t staging_bytes() const noexcept override { return 6 * part_bytes_ + threads_ * scratch_bytes_; }

  void run(Workload& work) override {
    Workers workers(threads_);
    std::array<Round, 2> rounds{Round(workers), Round(workers)};
    std::unique_ptr<Communicator::Pending> pending;
    try {
      bool more = begin(work, rounds[0]);
      for (std::size_t r = 0; more; ++r) {
        Round& now = rounds[r % 2];
        Round& other = rounds[(r + 1) % 2];
        agree(processes_, [&] { now.reads.wait(); });
        pending = start(now);
        wait_for(other.writes, *pending);
        more = begin(work, other);
        pending->wait();
        pending.reset();
        write(work, now);
      }
      agree(processes_, [&] {
        for (Round& round : rounds) round.writes.wait();
      });
    } catch (...) {
      // Every process has posted its half of what is under way before it could fail together with the others: it comes
      // to an end.
      if (pending && processes_.failed_together()) pending->wait();
      throw;
    }
  }

 private:
  /// Plans a round, asks the peers for their pieces, and sets this process's reading off. False when nobody has a chunk
  /// left.
  bool begin(Workload& work, Round& round) {
    agree(processes_, [&] {
      round.writes.wait();  // its buffers are free again
      plan(work, round);
    });
    if (processes_.maximum(round.chunks.size()) == 0) return false;
    auto asked = processes_.all_to_all(std::move(round.requests));
    agree(processes_, [&] { read(work, round, asked); });
    return true;
  }

  void plan(Workload& work, Round& round) {
    round.chunks.clear();
    std::vector<RequestWriter> requests(peers_);
    round.receive_sizes.assign(peers_, 0);
    std::uint64_t used = 0;
    for (;;) {
      if (!next_) next_ = next(work);
      if (!next_ || !fits(work, *next_, round, used)) break;
      ChunkInRound& chunk = round.chunks.emplace_back(std::move(*next_));
      next_.reset();
      chunk.staging_offset = used;
      used += chunk.chunk.bytes;
      std::vector<Transfer> transfers = std::move(chunk.local);
      chunk.local.clear();
      for (Transfer& transfer : transfers) {
        const std::uint32_t peer = work.owner(transfer.card);
        if (peer == static_cast<std::uint32_t>(processes_.rank())) {
          chunk.local.push_back(transfer);
          continue;
        }
        requests[peer].add(transfer);
        const std::uint64_t bytes = message_bytes(transfer);
        chunk.pieces.push_back({peer, round.receive_sizes[peer], std::move(transfer)});
        round.receive_sizes[peer] += bytes;
      }
    }
    grow(round.staging, used);
    round.receive_offsets.assign(peers_, 0);
    std::uint64_t received = 0;
    round.requests.clear();
    for (std::uint64_t p = 0; p < peers_; ++p) {
      round.receive_offsets[p] = received;
      received += round.receive_sizes[p];
      round.requests.push_back(requests[p].take());
    }
    grow(round.received, received);
  }

  /// The next chunk with all its transfers (in `local` until `plan` has sorted them).
  static std::optional<ChunkInRound> next(Workload& work) {
    const auto chunk = work.next();
    if (!chunk) return std::nullopt;
    ChunkInRound planned;
    planned.chunk = *chunk;
    planned.has_padding =
        work.plan(*chunk, [&](const Transfer& transfer) { planned.local.push_back(transfer); }) < chunk->bytes;
    return planned;
  }

  /// Whether a chunk still fits: in the staging memory, and in what each peer may be asked for (it serves all of us).
  bool fits(const Workload& work, const ChunkInRound& chunk, const Round& round, std::uint64_t used) const {
    if (round.chunks.empty()) return true;
    if (used + chunk.chunk.bytes + least_cost * round.chunks.size() > part_bytes_) return false;
    std::vector<std::uint64_t> sizes = round.receive_sizes;
    for (const Transfer& transfer : chunk.local)
      if (const std::uint32_t peer = work.owner(transfer.card); peer != static_cast<std::uint32_t>(processes_.rank())) {
        sizes[peer] += std::max(message_bytes(transfer), least_cost);
        if (sizes[peer] > peer_bytes_) return false;
      }
    return true;
  }

  /// Reads what the peers asked for into their messages, and this process's own pieces straight into its chunks.
  void read(Workload& work, Round& round, const std::vector<std::string>& asked) {
    std::vector<std::vector<Transfer>> transfers;
    round.send_offsets.assign(peers_, 0);
    round.send_sizes.assign(peers_, 0);
    std::uint64_t sent = 0;
    for (std::uint64_t p = 0; p < peers_; ++p) {
      transfers.push_back(read_request(asked[p]));
      for (const Transfer& transfer : transfers[p]) {
        round.send_sizes[p] += message_bytes(transfer);
        work.count_exchanged(transfer.bytes());
      }
      round.send_offsets[p] = sent;
      sent += round.send_sizes[p];
    }
    grow(round.sent, sent);
    for (std::uint64_t p = 0; p < peers_; ++p)
      read_for(work, round, round.sent.data() + round.send_offsets[p], transfers[p]);
    for (ChunkInRound& chunk : round.chunks)
      round.reads.run([this, &work, &round, &chunk] {
        std::byte* start = round.staging.data() + chunk.staging_offset;
        if (chunk.has_padding) std::memset(start, 0, chunk.chunk.bytes);
        for (const Transfer& transfer : chunk.local)
          chunk.read += work.read(transfer, start + transfer.target_offset, scratch());
      });
  }

  void read_for(Workload& work, Round& round, std::byte* message, const std::vector<Transfer>& transfers) {
    std::vector<Transfer> batch;
    std::uint64_t bytes = 0;
    const auto flush = [&] {
      if (batch.empty()) return;
      round.reads.run([this, &work, message, batch = std::move(batch)] {
        for (const Transfer& transfer : batch) {
          std::byte* place = message + transfer.target_offset;
          const PartialSum sum = work.read(transfer, place, scratch());
          std::memcpy(place + transfer.bytes(), &sum, sizeof sum);
        }
      });
      batch = {};
      bytes = 0;
    };
    for (const Transfer& transfer : transfers) {
      bytes += transfer.bytes();
      batch.push_back(transfer);
      if (bytes >= task_bytes) flush();
    }
    flush();
  }

  std::unique_ptr<Communicator::Pending> start(const Round& round) {
    std::vector<Communicator::Message> sends;
    std::vector<Communicator::Message> receives;
    for (std::uint64_t step = 1; step < peers_; ++step) {  // not everybody to rank 0 first
      const std::uint64_t to = (static_cast<std::uint64_t>(processes_.rank()) + step) % peers_;
      const std::uint64_t from = (static_cast<std::uint64_t>(processes_.rank()) + peers_ - step) % peers_;
      if (round.send_sizes[to] != 0)
        sends.push_back({static_cast<int>(to), {round.sent.data() + round.send_offsets[to], round.send_sizes[to]}});
      if (round.receive_sizes[from] != 0)
        receives.push_back(
            {static_cast<int>(from), {round.received.data() + round.receive_offsets[from], round.receive_sizes[from]}});
    }
    return processes_.start(sends, receives);
  }

  /// Waits for tasks and keeps messages moving meanwhile: MPI moves them only while it is called.
  static void wait_for(TaskGroup& tasks, Communicator::Pending& pending) {
    bool done = false;
    while (!tasks.is_done()) {
      done = done || pending.is_done();
      std::this_thread::sleep_for(std::chrono::microseconds(done ? 200 : 20));
    }
  }

  static void write(Workload& work, Round& round) {
    for (const ChunkInRound& chunk : round.chunks)
      round.writes.run([&work, &round, &chunk] {
        std::byte* start = round.staging.data() + chunk.staging_offset;
        PartialSum read = chunk.read;
        for (const auto& piece : chunk.pieces)
          read += unpack(piece, round.received.data() + round.receive_offsets[piece.peer] + piece.message_offset,
                         start + piece.transfer.target_offset);
        work.write(chunk.chunk, {start, static_cast<std::size_t>(chunk.chunk.bytes)}, read);
      });
  }

  /// A piece's part of a message to its place; gives the sum that came with it.
  static PartialSum unpack(const ChunkInRound::Piece& piece, const std::byte* message, std::byte* target) {
    const Transfer& transfer = piece.transfer;
    const Extents shape = transfer.source.box.shape();
    ckpt::run(strided_copy(shape, row_major_strides(shape), transfer.target_strides, transfer.element), message,
              target);
    PartialSum sum;
    std::memcpy(&sum, message + transfer.bytes(), sizeof sum);
    return sum;
  }

  std::span<std::byte> scratch() const {
    thread_local Buffer buffer;
    grow(buffer, scratch_bytes_);
    return buffer.first(scratch_bytes_);
  }

  Communicator& processes_;
  std::uint64_t peers_;
  unsigned threads_;
  std::uint64_t scratch_bytes_ = 0;
  std::uint64_t part_bytes_ = 0;
  std::uint64_t peer_bytes_ = 0;
  std::uint64_t chunk_bytes_ = 0;
  std::optional<ChunkInRound> next_;  // planned, but did not fit into the round before
};

}  // namespace

std::unique_ptr<Exchange> message_exchange(Communicator& processes, const Staging& staging) {
  return std::make_unique<MessageExchange>(processes, staging);
}

}  // namespace ckpt
