#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "base/buffer.hpp"
#include "base/interrupt.hpp"
#include "base/trace.hpp"
#include "exchange/exchange.hpp"
#include "exchange/rounds.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t best_message_scratch = 1ULL << 20;
constexpr std::uint64_t most_own = 4ULL << 20;

/// Larger rounds gain nothing, and all the memory that they take is touched for the first time, which costs more than
/// reading a file does. Many processes need more, or their messages are small; so do many threads, or some have no
/// task.
constexpr std::uint64_t best_part = 24ULL << 20;
constexpr std::uint64_t best_part_of_each = 1ULL << 20;

/// One is read, one is exchanged, one is written.
constexpr std::size_t rounds_in_turn = 3;

/// All buffers and tasks of one round.
struct Round {
  explicit Round(Workers& workers) : reads(workers), writes(workers) {}

  RoundPlan plan;
  Lease read_ahead;
  Lease read_ahead_to_write;
  Buffer staging;  // chunks
  Buffer received;
  Buffer sent;
  TaskGroup reads;
  TaskGroup writes;
};

void grow(Buffer& buffer, std::uint64_t bytes) {
  if (buffer.size() < bytes) buffer = Buffer(bytes);
}

/// How staging memory is divided.
struct MessageShares {
  MessageShares(const Staging& staging, int processes)
      : threads(std::max(staging.threads, 1U)),
        scratch_bytes(
            std::clamp<std::uint64_t>(staging.memory_bytes / (8ULL * threads), 64ULL << 10, best_message_scratch)),
        own_bytes(std::min<std::uint64_t>(staging.memory_bytes / (8ULL * threads), most_own)),
        part_bytes(std::min(
            (staging.memory_bytes - threads * own_bytes - std::min(staging.memory_bytes / 2, scratch_bytes * threads)) /
                parts,
            best_part + best_part_of_each * (threads + static_cast<unsigned>(processes)))) {}

  static constexpr std::uint64_t parts = 3 * rounds_in_turn;  // chunks, messages received and messages sent

  std::uint64_t of_threads() const { return threads * (scratch_bytes + own_bytes); }
  std::uint64_t most_own_stretch() const { return own_bytes - std::min(own_bytes, Stretch::page); }

  unsigned threads;
  std::uint64_t scratch_bytes;
  std::uint64_t own_bytes;  // of each thread, for chunks that need nothing from others
  std::uint64_t part_bytes;
};

class MessageExchange final : public Exchange {
 public:
  MessageExchange(Communicator& processes, const Staging& staging)
      : processes_(processes),
        shares_(staging, processes.size()),
        rounds_(processes, shares_.part_bytes, shares_.most_own_stretch()) {}

  const char* name() const noexcept override { return "mpi"; }
  std::uint64_t chunk_bytes() const noexcept override { return rounds_.chunk_bytes(); }
  std::uint64_t staging_bytes() const noexcept override {
    return MessageShares::parts * shares_.part_bytes + shares_.of_threads();
  }

  bool reads_ahead() const noexcept override { return true; }

  /// While a round is planned and exchanged, threads read the next one and write the previous one.
  void run(Workload& work) override {
    rounds_.set_own_bytes(work.is_written_in_order() ? 0 : shares_.most_own_stretch());
    Workers workers(shares_.threads);
    std::array<Round, rounds_in_turn> rounds{Round(workers), Round(workers), Round(workers)};
    try {
      agree(processes_, [&] { rounds_.plan_ahead(work); });
      bool more = plan(rounds[0]);
      if (more)
        agree(processes_, [&] {
          begin(work, rounds[0]);
          rounds_.plan_ahead(work);
        });
      for (std::size_t r = 0; more; ++r) {
        Round& now = rounds[r % rounds_in_turn];
        Round& next = rounds[(r + 1) % rounds_in_turn];
        more = plan(next);
        agree(processes_, [&] {
          if (more) begin(work, next);
          now.reads.wait();
          now.read_ahead.clear();
        });
        agree(processes_, [&] {
          exchange(now, next.reads);
          write(work, now);
          rounds_.plan_ahead(work);
        });
      }
      agree(processes_, [&] {
        for (Round& round : rounds) round.writes.wait();
      });
    } catch (...) {
      work.stop();
      throw;
    }
  }

 private:
  /// Waits until a round's buffers are free again.
  static void clear(Round& round) {
    round.writes.wait();
    round.read_ahead_to_write.clear();
  }

  /// Makes a round of what is planned ahead, and requests the peers' pieces. Returns false if no process has a
  /// chunk left. Collective: the link is idle meanwhile.
  bool plan(Round& round) {
    if (!rounds_.agree_on_grants()) return false;
    agree(processes_, [&] {
      clear(round);
      rounds_.take_chunks(round.plan);
      grow(round.staging, round.plan.chunk_bytes);
      grow(round.received, round.plan.received.bytes);
    });
    rounds_.ask(round.plan);
    return true;
  }

  /// Starts this process's reading.
  void begin(Workload& work, Round& round) {
    rounds_.accept(work, round.plan);
    grow(round.sent, round.plan.sent.bytes);
    read(work, round);
  }

  /// Reads what the peers requested into their messages, and this process's own pieces directly into its chunks. Chunks
  /// without other pieces are written at once, together, while they are in the processor's cache.
  void read(Workload& work, Round& round) {
    if (work.can_read_ahead()) prefetch_round(work, round);
    read_messages(work, round.plan, round.sent.data(), shares_.scratch_bytes, round.reads);
    OwnStretch own;
    for (ChunkInRound& chunk : round.plan.chunks) {
      if (!chunk.is_own) {
        round.reads.run(
            [this, &work, &round, &chunk] { take_local(work, chunk, round.staging.data() + chunk.offset); });
        continue;
      }
      if (own.chunks.empty() || !work.extend(own.stretch, chunk.chunk, shares_.most_own_stretch())) {
        move(work, round, std::move(own));
        own = {work.alone(chunk.chunk), {}};
      }
      own.chunks.push_back(&chunk);
    }
    move(work, round, std::move(own));
  }

  /// Chunks that need nothing from others and are written together.
  struct OwnStretch {
    Stretch stretch;
    std::vector<ChunkInRound*> chunks;
  };

  void take_local(Workload& work, ChunkInRound& chunk, std::byte* start) const {
    if (chunk.has_padding) std::memset(start, 0, chunk.chunk.bytes);
    for (const Transfer& transfer : chunk.local)
      chunk.read += work.read(transfer, start + transfer.target_offset, thread_scratch(shares_.scratch_bytes));
  }

  /// Nothing waits for these chunks: their tasks are among the writes, and hold what was prefetched for them until
  /// then.
  void move(Workload& work, Round& round, OwnStretch own) {
    if (own.chunks.empty()) return;
    const auto held = std::make_shared<Lease>();
    for (const ChunkInRound* chunk : own.chunks) {
      if (!work.can_read_ahead()) break;
      for (const Transfer& transfer : chunk->local) work.read_ahead(transfer, *held);
      work.read_ahead_to_write(chunk->chunk, *held);
    }
    round.writes.run([this, &work, own = std::move(own), held]() mutable {
      work.clone(own.stretch);
      thread_local Buffer room;
      grow(room, shares_.own_bytes);
      std::byte* const start = room.data() + own.stretch.shift();
      const auto read = own.stretch.assemble_chunks(start, [&](std::size_t i, std::byte* place) {
        take_local(work, *own.chunks[i], place);
        return own.chunks[i]->read;
      });
      work.write_stretch(own.stretch, {start, own.stretch.bytes}, read);
      held->clear();
    });
  }

  /// Prefetches in the order of reading, as far as there is room.
  static void prefetch_round(Workload& work, Round& round) {
    const auto ask = [&](const std::vector<Transfer>& transfers) {
      return std::all_of(transfers.begin(), transfers.end(), [&](const Transfer& transfer) {
        const bool has_room = work.can_read_ahead();
        if (has_room) work.read_ahead(transfer, round.read_ahead);
        return has_room;
      });
    };
    for (const std::vector<Transfer>& message : round.plan.asked)
      if (!ask(message)) return;
    for (const ChunkInRound& chunk : round.plan.chunks) {
      if (chunk.is_own) continue;
      if (!ask(chunk.local)) return;
      work.read_ahead_to_write(chunk.chunk, round.read_ahead_to_write);
    }
  }

  /// Sends and receives a round's messages. MPI makes progress only during calls, and `others` need the processor until
  /// they are done.
  void exchange(Round& round, TaskGroup& others) {
    const trace::Timed timed("exchange");
    const auto pending = processes_.start(rounds_.outgoing(round.plan.sent, round.sent.data()),
                                          rounds_.incoming(round.plan.received, round.received.data()));
    try {
      Backoff pause;
      while (!pending->is_done()) {
        check_interrupt();
        if (others.is_done_within(pause.next())) return pending->wait();
      }
    } catch (...) {
      static std::vector<Buffer> left_to_mpi;  // it may still write there, or read
      left_to_mpi.push_back(std::move(round.received));
      left_to_mpi.push_back(std::move(round.sent));
      throw;
    }
  }

  static void write(Workload& work, Round& round) {
    for (const ChunkInRound& chunk : round.plan.chunks) {
      if (chunk.is_own) continue;  // it was written when it was read
      round.writes.run([&work, &round, &chunk] {
        std::byte* start = round.staging.data() + chunk.offset;
        PartialSum read = chunk.read;
        for (const auto& piece : chunk.pieces)
          read += unpack(piece.transfer,
                         round.received.data() + round.plan.received.offsets[piece.peer] + piece.message_offset,
                         start + piece.transfer.target_offset);
        work.write(chunk.chunk, {start, static_cast<std::size_t>(chunk.chunk.bytes)}, read);
      });
    }
  }

  /// Copies a piece from a message to its place; returns the sum that came with it.
  static PartialSum unpack(const Transfer& transfer, const std::byte* message, std::byte* target) {
    ckpt::run(unpacking(transfer), message, target);
    return load_sum(message + transfer.bytes());
  }

  Communicator& processes_;
  MessageShares shares_;
  Rounds rounds_;
};

}  // namespace

std::unique_ptr<Exchange> message_exchange(Communicator& processes, const Staging& staging) {
  return std::make_unique<MessageExchange>(processes, staging);
}

}  // namespace ckpt
