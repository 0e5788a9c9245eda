#pragma once

#include <functional>

#include "base/lease.hpp"
#include "checkpoint/content_sums.hpp"

namespace ckpt {

/// How what a chunk needs is read before its turn, as far as there is room for it.
struct ReadingAhead {
  std::function<bool()> has_room;
  std::function<void(const Chunk&, Lease&)> begin;
};

/// sum_chunks, of chunks whose data is being read before their turn.
void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums,
                const ReadingAhead& ahead);

}  // namespace ckpt
