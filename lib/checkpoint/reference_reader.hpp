#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "checkpoint/reference.hpp"
#include "checkpoint/source_reader.hpp"

namespace ckpt {

/// Reads the data of a reference's tensors, on a process that sees its files. The reference and the store must outlive
/// it.
class ReferenceReader {
 public:
  /// `window_bytes`, `most_open`: for all parts together, as in SourceReader.
  ReferenceReader(const Reference& reference, SourceStore& store, std::uint64_t window_bytes, std::size_t most_open);

  /// Reads the elements of a box of a tensor (by its number) in row-major order: as many bytes as `out` has. Throws
  /// input if they cannot be read.
  void read(std::size_t tensor, const Box& box, std::span<std::byte> out);

 private:
  const Reference& reference_;
  std::vector<std::unique_ptr<SourceReader>> readers_;  // one for each part
  Buffer scratch_;
};

}  // namespace ckpt
