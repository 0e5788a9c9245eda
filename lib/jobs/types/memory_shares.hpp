#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "layout/placement/placement.hpp"
#include "plan/chunk_merge.hpp"

namespace ckpt {

/// How a process's memory is divided, in bytes.
struct MemoryShares {
  std::uint64_t windows = 0;  ///< mapped parts of source files
  std::uint64_t chunks = 0;   ///< decoded chunks of source files
  std::uint64_t rest = 0;     ///< everything else
  std::string shortage = {};  ///< a warning if `chunks` does not hold what is read together; empty: it does

  /// Decoded chunks are used up one by one; files that are read as they are can be written all at once.
  ChunkOrder order() const noexcept { return chunks != 0 ? ChunkOrder::by_tensor : ChunkOrder::in_step; }
};

/// Among the data that must be decoded, the dataset with the largest chunks, by the memory that one takes; and the
/// memory that the job holds from the start.
struct LargestChunk {
  std::string place;  ///< file and dataset; empty: nothing must be decoded
  std::uint64_t bytes = 0;
  std::uint64_t decoding_bytes = 0;
  std::uint64_t value_bytes = 0;     ///< all values of variable length, which are in the catalogs
  bool is_averaged = false;          ///< others are read beside the checkpoint (averaging_memory)
  std::string beside = {};           ///< the dataset of `together_bytes`
  std::uint64_t together_bytes = 0;  ///< the most memory of chunks beside one another, through which rows go
};

/// The bytes of a job's memory that reading checkpoints takes that are averaged with the first one.
std::uint64_t averaging_memory(std::uint64_t memory_bytes);

/// The largest chunk among those arrays of a checkpoint for which `is_read` is true, and of those averaged with it.
LargestChunk largest_chunk(
    const Checkpoint& checkpoint, const Placement& placement,
    const std::function<bool(ArrayId)>& is_read = [](ArrayId) { return true; });

/// First subtracts the memory for the catalogs' values, which are also in each new file, but at most half of all. If
/// nothing must be decoded, one part in `uses` is for mappings. Otherwise the chunks' share grows with the largest
/// chunk, or with those that are needed together, and a quarter remains for the rest. Throws input, naming the memory
/// needed, if that is not enough.
MemoryShares share_memory(std::uint64_t memory_bytes, unsigned uses, const LargestChunk& largest);

/// Limits the memory in which source files are decoded, where a checkpoint's weights are dequantised apart from what
/// their format decodes.
void set_decoding_memory(SourceStore& store, const std::vector<const Checkpoint*>& checkpoints, std::uint64_t bytes);

/// Warns if compressed data had to be decoded more than twice, with the memory that would help. Collective.
void warn_of_repeats(std::uint64_t memory_bytes, const Decoding& decoding, Communicator& processes);

}  // namespace ckpt
