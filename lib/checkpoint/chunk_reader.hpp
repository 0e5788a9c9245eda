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
      : checkpoint_(checkpoint),
        placement_(placement),
        where_(placement),
        files_(most_open, [this, &store](FileNumber file) {
          return std::shared_ptr<SourceFile>(store.open(checkpoint_.file_path(file), checkpoint_.file(file)));
        }) {}

  const ArrayFiles& where() const noexcept { return where_; }

  void read(const Chunk& chunk, std::span<std::byte> out) { read(chunk, where_.file(chunk.card, chunk.array), out); }
  /// The same bytes of another file, which declares the same.
  void read(const Chunk& chunk, FileNumber file, std::span<std::byte> out) {
    const std::uint64_t offset = chunk.elements.lo * placement_.arrays()[chunk.array].dtype.size;
    files_.get(file)->read(checkpoint_.file(file).schema->find(where_.name(chunk.array)), offset, out);
  }

 private:
  const Checkpoint& checkpoint_;
  const Placement& placement_;
  ArrayFiles where_;
  FileCache<SourceFile> files_;
};

}  // namespace ckpt
