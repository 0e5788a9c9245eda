#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/workers.hpp"
#include "exchange/exchange.hpp"
#include "exchange/request.hpp"

namespace ckpt {

/// A writer's wishes to a reader for the next round.
struct RoundRequest {
  bool has_more = false;    ///< the writer has chunks left, from any reader
  std::uint64_t least = 0;  ///< bytes from this reader for its next chunk
  std::uint64_t most = 0;   ///< bytes from this reader for all chunks that fit into its own memory
};

/// Returns how many bytes a reader grants each writer in a round, by rank, so that together they fit into `part_bytes`.
/// First, as many writers as possible get the bytes for their next chunk; then these share the rest in proportion to
/// what they would like. The order rotates: every reader serves the writer whose rank is `round` modulo their number,
/// even beyond `part_bytes`, so that each makes progress. A pure function.
std::vector<std::uint64_t> grant_round(std::uint64_t part_bytes, std::uint64_t round,
                                       const std::vector<RoundRequest>& round_requests);

/// One message to or from each process, contiguous in a buffer.
struct Messages {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;

  void clear(std::uint64_t peers);
  void place();  ///< computes offsets and bytes from the sizes
};

/// A chunk of a round, and its pieces.
struct ChunkInRound {
  /// The part of it that a peer sends.
  struct Piece {
    std::uint32_t peer;
    std::uint64_t message_offset;
    Transfer transfer;
  };
  Chunk chunk;
  std::uint64_t room = 0;    ///< memory that it takes in a round: its bytes, and an overhead for each transfer
  std::uint64_t offset = 0;  ///< among the round's chunks, which are contiguous
  bool has_padding = false;
  bool is_own = false;          ///< it needs nothing from others, and no room among the round's chunks
  std::vector<Transfer> local;  ///< transfers that this process reads itself
  std::vector<Piece> pieces;
  PartialSum read;  ///< sum of the local transfers, once they have been read
};

/// What moves in one round, as one process sees it.
struct RoundPlan {
  std::vector<ChunkInRound> chunks;
  std::uint64_t room = 0;             ///< memory that they take in a round
  std::uint64_t chunk_bytes = 0;      ///< of all that are not `is_own`
  std::vector<std::string> requests;  ///< to each peer; after `ask`, from each peer
  Messages received;
  std::vector<std::vector<Transfer>> asked;  ///< what each peer requests of this process: targets are places in its
                                             ///< message
  Messages sent;
};

/// Divides an exchange into rounds whose chunks, and messages in either direction, take `part_bytes` each; the first
/// rounds are smaller, so that the first bytes are soon on their way. Every process takes part in a round with its
/// remaining chunks, as far as the readers of their pieces grant it.
class Rounds {
 public:
  Rounds(Communicator& processes, std::uint64_t part_bytes) : Rounds(processes, part_bytes, part_bytes) {}
  /// `most_chunk` limits the size of a chunk, if it is at least several pages.
  Rounds(Communicator& processes, std::uint64_t part_bytes, std::uint64_t most_chunk);

  std::uint64_t chunk_bytes() const noexcept { return chunk_bytes_; }

  /// Sets the size up to which a chunk that needs nothing from others takes none of a round's memory. Call it before
  /// anything is planned.
  void set_own_bytes(std::uint64_t bytes) noexcept { own_bytes_ = bytes; }

  // A round is planned in five steps. The second and the fourth are collective.
  /// Plans as many chunks as this process has room for.
  void plan_ahead(Workload& work);
  /// Sends the readers what these chunks would take, and receives what each grants. Returns false if no process has a
  /// chunk left.
  bool agree_on_grants();
  /// The two halves of agree_on_grants: what this process would like from each peer, and what it may then request from
  /// each.
  std::vector<RoundRequest> round_requests() const;
  void set_grants(std::vector<std::uint64_t> granted) { granted_ = std::move(granted); }
  /// Takes the chunks that the grants allow in this round.
  void take_chunks(RoundPlan& plan);
  void ask(RoundPlan& plan);
  void accept(Workload& work, RoundPlan& plan) const;

  /// Return the messages in `buffer`, in an order in which not all processes begin with the same peer.
  std::vector<Communicator::Message> outgoing(const Messages& messages, std::byte* buffer) const;
  std::vector<Communicator::Message> incoming(const Messages& messages, std::byte* buffer) const;

 private:
  /// A planned chunk, and the bytes that it takes from each peer.
  struct PlannedChunk {
    ChunkInRound chunk;
    std::map<std::uint32_t, std::uint64_t> asked;
  };

  std::optional<Chunk> next(Workload& work);
  /// Adds a chunk to the planned ones; or, if it has too many transfers, adds its parts to what is planned next.
  void plan(Workload& work, const Chunk& chunk);
  void divide(const Chunk& chunk, std::uint64_t parts);
  bool is_granted(const PlannedChunk& planned, const RoundPlan& plan) const;
  std::vector<Communicator::Message> messages(const Messages& messages, std::byte* buffer, std::uint64_t step) const;

  Communicator& processes_;
  std::uint64_t peers_;
  std::uint64_t rank_;
  std::uint64_t part_bytes_;
  std::uint64_t round_bytes_ = 0;  ///< part_bytes_, but for the first rounds
  std::uint64_t own_bytes_ = 0;
  std::uint64_t chunk_bytes_;
  std::uint64_t round_ = 0;
  std::vector<Chunk> parts_;  // parts of a chunk that was too large, last one first
  std::deque<PlannedChunk> ahead_;
  std::uint64_t bytes_ahead_ = 0;       // size of these, as counted in a round
  std::vector<std::uint64_t> granted_;  // by peer: what this process may request from it in this round
};

/// Starts reading what the peers requested into messages that lie in `buffer` according to plan.sent. The plan must
/// outlive the tasks, unchanged.
void read_messages(Workload& work, const RoundPlan& plan, std::byte* buffer, std::uint64_t scratch_bytes,
                   TaskGroup& tasks);

/// Returns memory for Workload::read; each thread has its own.
std::span<std::byte> thread_scratch(std::uint64_t bytes);

}  // namespace ckpt
