#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/workers.hpp"
#include "exchange/exchange.hpp"
#include "exchange/request.hpp"
#include "exchange/round_shares.hpp"

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
  std::uint64_t offset = 0;  ///< among the round's chunks, which lie one after the other
  bool has_padding = false;
  std::vector<Transfer> local;  ///< what this process reads itself
  std::vector<Piece> pieces;
  PartialSum read;  ///< of the local transfers, when they have been read
};

/// What moves in one round, as one process sees it.
struct RoundPlan {
  std::vector<ChunkInRound> chunks;
  bool is_last = false;               ///< this process has no more
  std::uint64_t chunk_bytes = 0;      ///< of all of them
  std::vector<std::string> requests;  ///< to each peer; then, of each peer
  Messages received;
  std::vector<std::vector<Transfer>> asked;  ///< of this process by each peer: targets are places in its message
  Messages sent;
};

/// Divides an exchange into rounds whose chunks, and messages either way, take `part_bytes` each. Every process takes
/// part in a round with the chunks that it has left, if it is its turn.
class Rounds {
 public:
  Rounds(Communicator& processes, std::uint64_t part_bytes, RoundShares shares);

  std::uint64_t chunk_bytes() const noexcept { return shares_.chunk_bytes; }

  // A round is planned in three steps. The second is collective, and says whether any process has a chunk left.
  void take_chunks(Workload& work, RoundPlan& plan);
  bool ask(RoundPlan& plan);
  void accept(Workload& work, RoundPlan& plan) const;

  /// The messages in `buffer`, in an order in which not everybody begins with the same peer.
  std::vector<Communicator::Message> outgoing(const Messages& messages, std::byte* buffer) const;
  std::vector<Communicator::Message> incoming(const Messages& messages, std::byte* buffer) const;

 private:
  std::optional<ChunkInRound> next(Workload& work) const;
  bool fits(const Workload& work, const ChunkInRound& chunk, const RoundPlan& plan) const;
  void sort_transfers(const Workload& work, ChunkInRound& chunk, RoundPlan& plan, std::vector<RequestWriter>& requests);
  std::vector<Communicator::Message> messages(const Messages& messages, std::byte* buffer, std::uint64_t step) const;

  Communicator& processes_;
  std::uint64_t peers_;
  std::uint64_t rank_;
  std::uint64_t part_bytes_;
  RoundShares shares_;
  std::uint64_t round_ = 0;
  std::optional<ChunkInRound> next_;  // planned, but did not fit into a round, or it was not this process's turn
};

/// Starts reading what the peers asked for, into messages that lie in `buffer` as plan.sent says. The plan must outlive
/// the tasks, unchanged.
void read_messages(Workload& work, const RoundPlan& plan, std::byte* buffer, std::uint64_t scratch_bytes,
                   TaskGroup& tasks);

/// Memory for Workload::read, of each thread its own.
std::span<std::byte> thread_scratch(std::uint64_t bytes);

}  // namespace ckpt
