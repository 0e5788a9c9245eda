#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "checkpoint/chunk_reader.hpp"
#include "plan/chunk_sequence.hpp"

namespace ckpt {

/// Asks for the chunks of a sequence, which threads read in about this order, some before their turn.
class ChunksAhead {
 public:
  /// `chunks`: the same as the threads have, from its beginning.
  ChunksAhead(ChunkReader& reader, ChunkSequence chunks) : reader_(reader), chunks_(std::move(chunks)) {}

  /// What has been read ahead for a chunk, whose turn it is.
  Lease take(const Chunk& chunk) {
    const std::lock_guard lock(mutex_);
    ++taken_;
    for (; asked_ < taken_ || (asked_ < taken_ + most_ahead && reader_.can_read_ahead()); ++asked_) {
      const auto next = chunks_.next();
      if (!next) break;
      if (asked_ >= taken_) reader_.read_ahead(*next, held_[key_of(*next)]);
    }
    const auto found = held_.extract(key_of(chunk));
    return found.empty() ? Lease{} : std::move(found.mapped());
  }

 private:
  using Key = std::tuple<Position, ArrayId, std::uint64_t>;
  static Key key_of(const Chunk& chunk) { return {chunk.card, chunk.array, chunk.elements.lo}; }

  static constexpr std::uint64_t most_ahead = 64;

  ChunkReader& reader_;
  ChunkSequence chunks_;
  std::mutex mutex_;
  std::uint64_t taken_ = 0;  // chunks
  std::uint64_t asked_ = 0;  // or passed over
  std::map<Key, Lease> held_;
};

}  // namespace ckpt
