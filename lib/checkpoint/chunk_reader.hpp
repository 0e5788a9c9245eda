#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/source_files.hpp"
#include "layout/placement/placement.hpp"
#include "plan/chunk.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Reads chunks of a checkpoint's arrays as they are stored. Threads may share one.
class ChunkReader {
 public:
  /// `most_open`: how many files may be open at a time (`files_in_cache`).
  ChunkReader(const Checkpoint& checkpoint, const Placement& placement, SourceStore& store, std::size_t most_open)
      : checkpoint_(checkpoint), placement_(placement), where_(placement), files_(checkpoint, store, most_open) {}

  const ArrayFiles& where() const noexcept { return where_; }

  void read(const Chunk& chunk, std::span<std::byte> out) { read(chunk, where_.file(chunk.card, chunk.array), out); }
  /// Reads the same bytes from another file that declares the same array.
  void read(const Chunk& chunk, FileNumber file, std::span<std::byte> out) {
    files_.read(file, dataset(chunk, file), stored(chunk).lo, out);
  }

  /// As SourceFiles::read_with_direct_io.
  std::uint64_t read_with_direct_io(std::uint64_t memory_bytes, const std::vector<FileNumber>& files) {
    return files_.read_with_direct_io(memory_bytes, files);
  }
  void read_buffered() { files_.read_buffered(); }
  bool reads_ahead() const { return files_.reads_ahead(); }
  bool can_read_ahead() const { return files_.can_read_ahead(); }
  /// Only for chunks that lie in their file in the chunk's order: `read` uses nothing else that was read ahead.
  void read_ahead(const Chunk& chunk, Lease& lease) {
    const FileNumber file = where_.file(chunk.card, chunk.array);
    const std::size_t found = dataset(chunk, file);
    if (checkpoint_.file(file).schema->datasets.at(found).storage != Storage::raw) return;
    files_.read_ahead(file, found, stored(chunk), lease);
  }

 private:
  std::size_t dataset(const Chunk& chunk, FileNumber file) const {
    return checkpoint_.file(file).schema->find(where_.name(chunk.array));
  }
  /// The chunk's place in the dataset, in bytes.
  Interval stored(const Chunk& chunk) const {
    const std::uint64_t element = placement_.arrays()[chunk.array].dtype.size;
    return {chunk.elements.lo * element, chunk.elements.hi * element};
  }

  const Checkpoint& checkpoint_;
  const Placement& placement_;
  ArrayFiles where_;
  SourceFiles files_;
};

}  // namespace ckpt
