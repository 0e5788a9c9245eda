#pragma once

#include <cstdint>
#include <vector>

#include "processes/communicator.hpp"

namespace ckpt {

/// How much of a round each pair of processes may use, so that what a reader sends in one stays within its memory
/// whoever asks. Readers divide a round among those who ask them for anything at all, by how much that is. Where
/// these are too many for messages of a fair size, the writers take turns.
struct RoundShares {
  std::uint64_t chunk_bytes = 0;          ///< the largest chunk that any process may ask for
  std::uint64_t turns = 1;                ///< process p has chunks in the rounds whose number is p modulo this
  std::vector<std::uint64_t> most_asked;  ///< by peer: bytes that this process may ask it for in one round
};

/// What a reader allows each writer, by its rank. `asked`: what each will ask of it in all. A pure function.
std::vector<std::uint64_t> share_of_reader(std::uint64_t part_bytes, std::uint64_t chunk_bytes, std::uint64_t turns,
                                           const std::vector<std::uint64_t>& asked);
/// How many turns writers take where so many ask the reader that most ask.
std::uint64_t turns_for(std::uint64_t part_bytes, std::uint64_t most_writers);
/// The largest chunk where so many of one turn ask the reader that most ask.
std::uint64_t chunk_bytes_for(std::uint64_t part_bytes, std::uint64_t most_writers);
/// Of those that will ask a reader for anything, the most that have one turn.
std::uint64_t most_in_a_turn(const std::vector<std::uint64_t>& asked, std::uint64_t turns);

/// `part_bytes`: of a round's messages, in one process. `asked`: the bytes that this process will ask of each, by rank,
/// as far as known; empty: of all the same. Collective.
RoundShares share_rounds(std::uint64_t part_bytes, const std::vector<std::uint64_t>& asked, Communicator& processes);

}  // namespace ckpt
