#include "jobs/types/memory_shares.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/averaged_files.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "store/value_memory.hpp"

namespace ckpt {

namespace {

// Eighths of the memory when something must be decoded: one for mappings, three for chunks, or up to five if the
// largest chunk needs more than three.
constexpr std::uint64_t eighths = 8;
constexpr std::uint64_t usual_chunks = 3;
constexpr std::uint64_t most_chunks = 5;

constexpr std::uint64_t averaging_parts = 4;  // of the memory, one is for the other checkpoints of an average

/// The job's memory of which `share` eighths hold `chunks` bytes, besides `held` bytes; in whole MiB.
std::string memory_for(std::uint64_t chunks, std::uint64_t share, std::uint64_t held = 0, bool is_averaged = false) {
  constexpr std::uint64_t mebibyte = 1ULL << 20;
  std::uint64_t bytes = checked_add(ceil_div(checked_mul(chunks, eighths), share), held);
  if (is_averaged) bytes = ceil_div(checked_mul(bytes, averaging_parts), averaging_parts - 1);
  return std::to_string(ceil_div(bytes, mebibyte)) + "MiB";
}

/// Memory for the chunks of an array that a run of its rows goes through, one of which is being decoded: each would
/// have to be decoded for every run otherwise.
std::uint64_t together_bytes(const StoredArray& array, const Dataset& dataset) {
  if (!dataset.chunk) return 0;
  constexpr std::uint64_t most = 1ULL << 56;  // an array of fill values may have any number of chunks
  std::uint64_t chunks = 1;
  std::size_t d = 0;
  while (d < array.shape.size() && (*dataset.chunk)[d] == 1) ++d;
  const auto times = [](std::uint64_t a, std::uint64_t b) { return a != 0 && b > most / a ? most : a * b; };
  for (++d; d < array.shape.size(); ++d) chunks = times(chunks, ceil_div(array.shape[d], (*dataset.chunk)[d]));
  return times(chunks, DecodedChunks::room_of(dataset.chunk_bytes)) + (dataset.decoding_bytes - dataset.chunk_bytes);
}

}  // namespace

LargestChunk largest_chunk(const Checkpoint& checkpoint, const Placement& placement,
                           const std::function<bool(ArrayId)>& is_read) {
  LargestChunk largest;
  std::set<const Schema*> seen;
  const ArrayFiles where(placement);
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file) {
    const Schema& schema = *checkpoint.file(file).schema;
    if (!seen.insert(&schema).second) continue;
    largest.value_bytes += value_bytes(schema);
    for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
      const std::size_t found = schema.find(where.name(array));
      if (found >= schema.datasets.size() || !is_read(array)) continue;
      const Dataset& dataset = schema.datasets[found];
      if (dataset.decoding_bytes == 0) continue;
      const std::string place = checkpoint.file_name(file) + ": /" + where.name(array);
      if (const std::uint64_t together = together_bytes((*schema.arrays)[found], dataset);
          together > largest.together_bytes) {
        largest.beside = place;
        largest.together_bytes = together;
      }
      if (dataset.decoding_bytes <= largest.decoding_bytes) continue;
      largest.place = place;
      largest.bytes = dataset.chunk_bytes;
      largest.decoding_bytes = dataset.decoding_bytes;
    }
  }
  if (const AveragedFiles* const averaged = checkpoint.averaged()) {
    for (const AveragedSource& other : averaged->how().others) {
      const LargestChunk found = largest_chunk(other.checkpoint, other.placement);
      largest.value_bytes += found.value_bytes;
      if (largest.together_bytes == 0) largest.beside = found.beside;
      largest.together_bytes += found.together_bytes;  // rows of all of them are read at a time
      if (found.decoding_bytes <= largest.decoding_bytes) continue;
      largest.place = found.place;
      largest.bytes = found.bytes;
      largest.decoding_bytes = found.decoding_bytes;
    }
    largest.is_averaged = true;
  }
  return largest;
}

std::uint64_t averaging_memory(std::uint64_t memory_bytes) {
  return memory_bytes / averaging_parts;
}

MemoryShares share_memory(std::uint64_t memory_bytes, unsigned uses, const LargestChunk& largest) {
  if (largest.is_averaged) memory_bytes -= averaging_memory(memory_bytes);
  const std::uint64_t held = checked_mul(largest.value_bytes, 2);
  memory_bytes -= std::min(memory_bytes / 2, held);
  if (largest.place.empty()) return {memory_bytes / uses, 0, memory_bytes - memory_bytes / uses};
  MemoryShares shares;
  const std::uint64_t eighth = memory_bytes / eighths;
  const std::uint64_t most = eighth * most_chunks;
  const std::uint64_t needed = DecodedChunks::room_of(largest.decoding_bytes);
  if (needed > most)
    throw Error(Kind::input, largest.place,
                {"is stored in chunks of " + format_bytes(largest.bytes) + ", each of which takes " +
                     format_bytes(needed) + " to decode",
                 "at most " + format_bytes(most) + ", of " + format_bytes(memory_bytes) + " of memory",
                 "",
                 {Advice::What::more_memory, memory_for(needed, most_chunks, held, largest.is_averaged)}});
  shares.windows = eighth;
  shares.chunks = std::max({eighth * usual_chunks, needed, std::min(most, largest.together_bytes)});
  if (largest.together_bytes > shares.chunks)
    shares.shortage = largest.beside + ": chunks beside one another take " + format_bytes(largest.together_bytes) +
                      " to decode, and " + format_bytes(shares.chunks) +
                      " hold them: each is decoded several times; give --memory " +
                      memory_for(largest.together_bytes, most_chunks, held, largest.is_averaged);
  shares.rest = memory_bytes - shares.windows - shares.chunks;
  return shares;
}

void set_decoding_memory(SourceStore& store, const std::vector<const Checkpoint*>& checkpoints, std::uint64_t bytes) {
  for (const Checkpoint* const each : checkpoints)
    if (each->dequantised() != nullptr) {
      each->dequantised()->set_memory(bytes / 2);
      bytes -= bytes / 2;
    }
  set_decoding_memory(store, bytes);
}

void warn_of_repeats(std::uint64_t memory_bytes, const Decoding& decoding, Communicator& processes) {
  const std::uint64_t bytes = processes.sum(decoding.bytes);
  const std::uint64_t again = processes.sum(decoding.again);
  const std::uint64_t memory = processes.maximum(decoding.memory_once);
  if (again <= bytes - again) return;
  log::warn("{} of compressed data were decoded for {}, as {} of memory do not hold what is read together: {} would",
            format_bytes(bytes), format_bytes(bytes - again), format_bytes(memory_bytes),
            memory_for(memory, usual_chunks));
}

}  // namespace ckpt
