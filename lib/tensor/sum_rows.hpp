#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/fingerprint.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

/// Runs of bytes at equal distances.
struct Rows {
  StridedCopy::Loop loop;   ///< their number, and the distances in bytes: in memory, in the target, in the whole tensor
  std::uint64_t bytes = 0;  ///< bytes of one run
};

/// Adds the sums of rows to `sum`. The first row lies at `source`, and is byte `offset` of its tensor. Also copies them
/// to `target`, unless that is null.
using RowSummer = void (*)(KeySets sets, const Rows& rows, const std::byte* source, std::byte* target,
                           std::uint64_t offset, PartialSum& sum);

/// Returns those that this processor can run, fastest first. All give the same results.
std::span<const RowSummer> row_summers();

}  // namespace ckpt
