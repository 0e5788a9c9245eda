#pragma once

#include <cstddef>
#include <span>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "layout/placement.hpp"
#include "plan/chunk.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Reads the chunks of a checkpoint's own arrays, as they are stored. Threads may share one.
class ChunkReader {
 public:
  /// `most_open`: how many files may be open at a time (`files_in_cache`).
  ChunkReader(const Checkpoint& checkpoint, const Placement& placement, SourceStore& store, std::size_t most_open)
      : checkpoint_(checkpoint), placement_(placement), files_(most_open, [this, &store](Position card) {
          return std::shared_ptr<SourceFile>(store.open(checkpoint_.file_path(card), checkpoint_.file(card)));
        }) {}

  void read(const Chunk& chunk, std::span<std::byte> out) { read(chunk, chunk.card, out); }
  /// The same bytes of another card's file, which declares the same.
  void read(const Chunk& chunk, Position card, std::span<std::byte> out) {
    const ArrayPlace& array = placement_.arrays()[chunk.array];
    files_.get(card)->read(checkpoint_.file(card).schema->find(array.name), chunk.elements.lo * array.dtype.size, out);
  }

 private:
  const Checkpoint& checkpoint_;
  const Placement& placement_;
  FileCache<SourceFile> files_;
};

}  // namespace ckpt
