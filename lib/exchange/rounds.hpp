#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/workers.hpp"
#include "exchange/exchange.hpp"
#include "exchange/request.hpp"
#include "exchange/round_grants.hpp"

namespace ckpt {

/// One message to or from each process, one after the other in a buffer.
struct Messages {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;

  void clear(std::uint64_t peers);
  void place();  ///< offsets and bytes, from the sizes
};

/// A chunk on its way, and what it is made of.
struct ChunkInRound {
  /// What a peer sends of it.
  struct Piece {
    std::uint32_t peer;
    std::uint64_t message_offset;
    Transfer transfer;
  };
  Chunk chunk;
  std::uint64_t room = 0;    ///< what it takes of a round: its bytes, and something for each transfer
  std::uint64_t offset = 0;  ///< among the round's chunks, which lie one after the other
  bool has_padding = false;
  bool is_own = false;          ///< it needs nothing from others, and no room among the round's chunks
  std::vector<Transfer> local;  ///< what this process reads itself
  std::vector<Piece> pieces;
  PartialSum read;  ///< of the local transfers, when they have been read
};

/// What moves in one round, as one process sees it.
struct RoundPlan {
  std::vector<ChunkInRound> chunks;
  std::uint64_t room = 0;             ///< what they take of a round
  std::uint64_t chunk_bytes = 0;      ///< of all that are not `is_own`
  std::vector<std::string> requests;  ///< to each peer; then, of each peer
  Messages received;
  std::vector<std::vector<Transfer>> asked;  ///< of this process by each peer: targets are places in its message
  Messages sent;
};

/// Divides an exchange into rounds whose chunks, and messages either way, take `part_bytes` each. Every process takes
/// part in a round with the chunks that it has left, as far as the readers of their pieces grant it.
class Rounds {
 public:
  Rounds(Communicator& processes, std::uint64_t part_bytes) : Rounds(processes, part_bytes, part_bytes) {}
  /// Chunks are no larger than `most_chunk`, if it is some pages.
  Rounds(Communicator& processes, std::uint64_t part_bytes, std::uint64_t most_chunk);

  std::uint64_t chunk_bytes() const noexcept { return chunk_bytes_; }

  /// Up to this, a chunk that needs nothing from others is no part of a round's memory. Before anything is planned.
  void set_own_bytes(std::uint64_t bytes) noexcept { own_bytes_ = bytes; }

  // A round is planned in five steps. The second and the fourth are collective.
  /// Plans as many chunks as this process has room for.
  void look_ahead(Workload& work);
  /// Tells the readers what these would take, and hears what each grants. False where no process has a chunk left.
  bool agree_on_grants();
  /// Its two halves: what this process would like of each peer, and what it may then ask each for.
  std::vector<RoundWish> wishes() const;
  void set_grants(std::vector<std::uint64_t> granted) { granted_ = std::move(granted); }
  /// Takes the chunks that may come in this round.
  void take_chunks(RoundPlan& plan);
  void ask(RoundPlan& plan);
  void accept(Workload& work, RoundPlan& plan) const;

  /// The messages in `buffer`, in an order in which not everybody begins with the same peer.
  std::vector<Communicator::Message> outgoing(const Messages& messages, std::byte* buffer) const;
  std::vector<Communicator::Message> incoming(const Messages& messages, std::byte* buffer) const;

 private:
  /// A chunk that is planned, and what it takes of each peer.
  struct Planned {
    ChunkInRound chunk;
    std::map<std::uint32_t, std::uint64_t> asked;
  };

  std::optional<Chunk> next(Workload& work);
  /// Adds a chunk to what is planned; or, where it has too many transfers, its parts to what is to be planned next.
  void plan(Workload& work, const Chunk& chunk);
  void divide(const Chunk& chunk, std::uint64_t parts);
  bool is_granted(const Planned& planned, const RoundPlan& plan) const;
  std::vector<Communicator::Message> messages(const Messages& messages, std::byte* buffer, std::uint64_t step) const;

  Communicator& processes_;
  std::uint64_t peers_;
  std::uint64_t rank_;
  std::uint64_t part_bytes_;
  std::uint64_t own_bytes_ = 0;
  std::uint64_t chunk_bytes_;
  std::uint64_t round_ = 0;
  std::vector<Chunk> parts_;  // of a chunk that was too much, the last one first
  std::deque<Planned> ahead_;
  std::uint64_t bytes_ahead_ = 0;       // of them, as they count in a round
  std::vector<std::uint64_t> granted_;  // by peer: what this process may ask it for in this round
};

/// Starts reading what the peers asked for, into messages that lie in `buffer` as plan.sent says. The plan must outlive
/// the tasks, unchanged.
void read_messages(Workload& work, const RoundPlan& plan, std::byte* buffer, std::uint64_t scratch_bytes,
                   TaskGroup& tasks);

/// Memory for Workload::read, of each thread its own.
std::span<std::byte> thread_scratch(std::uint64_t bytes);

}  // namespace ckpt
