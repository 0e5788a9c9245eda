#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "processes/communicator.hpp"
#include "tables/keyed/batches.hpp"
#include "tables/keyed/row_filter.hpp"
#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// One process's share of a table: its batches, and which of their rows are taken.
struct TableShare {
  Batches batches;
  std::vector<std::uint64_t> own;                ///< numbers of this process's batches, ascending
  std::vector<std::vector<std::uint64_t>> kept;  ///< one bit for each row of each of these batches; empty: all are
                                                 ///< taken

  /// Returns the bits of an own batch, by its index; empty: all are taken.
  std::span<const std::uint64_t> kept_in(std::size_t own_batch) const {
    return kept.empty() ? std::span<const std::uint64_t>() : kept[own_batch];
  }
  bool takes_all() const noexcept { return kept.empty(); }
  void take_all();  ///< sets all bits, which can then be cleared
  std::uint64_t kept_rows() const;
};

/// Returns how many rows to read at a time: about `bytes` bytes of them, and a multiple of the rows of a word of bits.
std::uint64_t rows_in(std::uint64_t bytes, std::uint64_t row_bytes);
/// Returns the bits of some rows of a batch, which must start at a word.
std::span<const std::uint64_t> kept_among(std::span<const std::uint64_t> kept, const Interval& rows);
/// Moves the rows whose bits are set to the front, in their order. Returns their number.
std::size_t keep_rows(std::span<const std::uint64_t> kept, std::span<std::byte> rows, std::uint64_t row_bytes);

/// The result of a filter on a table, over all processes.
struct FilterOutcome {
  std::uint64_t dropped_with_nan = 0;  ///< rows that were compared with NaN, and dropped
};

/// Keeps, of the rows taken, those that match a filter. Collective.
FilterOutcome filter_rows(const RowFilter& filter, TableReader& reader, unsigned threads, TableShare& share,
                          Communicator& processes);

}  // namespace ckpt
