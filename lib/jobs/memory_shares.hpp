#pragma once

#include <functional>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "layout/placement.hpp"
#include "plan/chunk_merge.hpp"

namespace ckpt {

/// How a process's memory is divided.
struct MemoryShares {
  std::uint64_t windows = 0;  ///< parts of source files that are mapped
  std::uint64_t chunks = 0;   ///< chunks of source files that are decoded
  std::uint64_t rest = 0;     ///< for all else

  /// Chunks that are decoded are used up one by one; files that are read as they are can be written all at once.
  ChunkOrder order() const noexcept { return chunks != 0 ? ChunkOrder::by_tensor : ChunkOrder::in_step; }
};

/// What a job reads that must be decoded: the dataset with the largest chunks, by the memory that one takes; and what
/// it holds from the start.
struct LargestChunk {
  std::string place;  ///< file and dataset; empty: nothing must be decoded
  std::uint64_t bytes = 0;
  std::uint64_t decoding_bytes = 0;
  std::uint64_t value_bytes = 0;  ///< of all values of variable length, which are in the catalogs
};

/// Among the arrays of a checkpoint that `is_read` names.
LargestChunk largest_chunk(
    const Checkpoint& checkpoint, const Placement& placement,
    const std::function<bool(ArrayId)>& is_read = [](ArrayId) { return true; });

/// What the catalogs' values take, there and in a file that is made, is taken off first, as far as half of the memory
/// is left. Where nothing is decoded, one in `uses` is mapped. Otherwise the chunks have a share that grows with the
/// largest, while a quarter is left for the rest. Throws input, naming the memory needed, where that is not enough.
MemoryShares share_memory(std::uint64_t memory_bytes, unsigned uses, const LargestChunk& largest);

/// Warns where compressed data had to be decoded more than twice, with the memory that would help. Collective.
void warn_of_repeats(std::uint64_t memory_bytes, const Decoding& decoding, Communicator& processes);

}  // namespace ckpt
