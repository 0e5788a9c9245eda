#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "checkpoint/prefetched_bytes.hpp"
#include "checkpoint/stored_sums.hpp"
#include "io/mapped_windows.hpp"
#include "plan/planner.hpp"
#include "store/store.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

struct GatherResult {
  std::uint64_t bytes_read = 0;  ///< from the file
  PartialSum sum;                ///< of the transfer's elements
};

/// How a transfer's elements are summed.
struct Summing {
  Shape tensor_strides;  ///< by dimension of the transfer's box
  KeySets sets = KeySets::both;
  std::uint64_t first = 0;  ///< the element of the tensor that index 0 of the transfer's box would be
};

/// The sources of a transfer's bytes besides read calls.
struct GatherContext {
  MappedWindows& windows;
  ReadAhead ahead = {};
  StoredSums* sums = nullptr;  ///< compares stored checksums on the way; null: they are compared first
  /// Neighbours of a short run are wanted soon: a page fault then costs less than a call for each run.
  bool has_small_arrays = false;
  /// Of a dataset whose rows go through more decoded chunks than memory holds: its shape, and that of the chunks.
  std::optional<std::pair<Shape, Shape>> grid = {};
};

/// Performs a transfer from a dataset of a file. Long runs are read straight into `target`. Short runs that lie close
/// together pass through `scratch`, in stretches of many runs. Scattered runs, and those of many small arrays, come
/// from mapped windows if the file can be mapped; else they pass through `scratch` too, as long as that costs less than
/// a read for each. Data decoded in chunks is read chunk after chunk if memory holds few of the chunks that a row
/// crosses. `summing`: sums the elements in the file's order.
GatherResult gather(SourceFile& file, std::size_t dataset, const Transfer& transfer, const Summing* summing,
                    std::byte* target, std::span<std::byte> scratch, const GatherContext& context);

/// Bytes of a dataset, in the file's order (SourceFile::read_as_stored).
struct StoredSpan {
  Interval bytes;
  bool is_run = false;  ///< the transfer copies all of them, as they are
};

/// From the first byte that a transfer wants to the last; nothing where that is unknown.
std::optional<StoredSpan> stored_span(const SourceFile& file, std::size_t dataset, const Transfer& transfer);

}  // namespace ckpt
