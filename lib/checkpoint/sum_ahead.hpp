#pragma once

#include <functional>

#include "base/lease.hpp"
#include "checkpoint/content_sums.hpp"

namespace ckpt {

/// How to read a chunk's data before its turn, as far as there is room for it.
struct ReadingAhead {
  std::function<bool()> has_room;
  std::function<void(const Chunk&, Lease&)> begin;
};

/// As sum_chunks, for chunks whose data is read before their turn.
void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums,
                const ReadingAhead& ahead);

}  // namespace ckpt
