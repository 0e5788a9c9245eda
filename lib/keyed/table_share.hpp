#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "keyed/batches.hpp"
#include "keyed/row_filter.hpp"
#include "keyed/stored_table.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// What one process works on of a table: its batches, and which of their rows are taken.
struct TableShare {
  Batches batches;
  std::vector<std::uint64_t> own;                ///< numbers of this process's batches, ascending
  std::vector<std::vector<std::uint64_t>> kept;  ///< of each of these, a bit for each row; empty: all are taken

  /// Of an own batch, by its index; empty: all.
  std::span<const std::uint64_t> kept_in(std::size_t own_batch) const {
    return kept.empty() ? std::span<const std::uint64_t>() : kept[own_batch];
  }
  bool takes_all() const noexcept { return kept.empty(); }
  void take_all();  ///< by bits, which can then be cleared
  std::uint64_t kept_rows() const;
};

/// How many rows to read at a time: about so many bytes of them, and all that one or more words of bits tell of.
std::uint64_t rows_in(std::uint64_t bytes, std::uint64_t row_bytes);
/// The bits of some rows of a batch; they begin with a word.
std::span<const std::uint64_t> kept_among(std::span<const std::uint64_t> kept, const Interval& rows);
/// Moves the rows whose bits are set together, to the front, in their order. Gives how many there are.
std::size_t keep_rows(std::span<const std::uint64_t> kept, std::span<std::byte> rows, std::uint64_t row_bytes);

/// What a filter did to a table, on all processes.
struct FilterOutcome {
  std::uint64_t dropped_with_nan = 0;  ///< rows that were compared with NaN, and went
};

/// Leaves of the rows that are taken those that a filter keeps. Collective.
FilterOutcome filter_rows(const RowFilter& filter, TableReader& reader, unsigned threads, TableShare& share,
                          Communicator& processes);

}  // namespace ckpt
