#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/fingerprint.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

/// Runs of bytes at equal distances.
struct Rows {
  StridedCopy::Loop loop;   ///< how many, and the distances in bytes: in memory, where they go to, in the whole tensor
  std::uint64_t bytes = 0;  ///< of one
};

/// Adds the sums of rows to `sum`, the first of which lies at `source` and is byte `offset` of its tensor; copies them
/// to `target` on the way, unless it is null.
using RowSummer = void (*)(KeySets sets, const Rows& rows, const std::byte* source, std::byte* target,
                           std::uint64_t offset, PartialSum& sum);

/// Those that this processor can run, the fastest first. All give the same.
std::span<const RowSummer> row_summers();

}  // namespace ckpt
