#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// Rows that are contiguous on a server of the source, and on one of the target.
struct RowRun {
  Interval rows;            ///< on the source's server
  Position server = 0;      ///< server of the target
  std::uint64_t first = 0;  ///< first row on that server
};

/// The destinations of a table's rows if whole shards move between servers: keys are needed only for checking.
class RangeMove {
 public:
  /// Returns the runs of some rows of a server of the source, in their order.
  std::vector<RowRun> runs(Position server, const Interval& rows) const;
  /// Returns where the shards begin on each server of the target, and the end.
  const std::vector<std::vector<std::uint64_t>>& offsets() const noexcept { return offsets_; }
  std::vector<std::uint64_t> rows() const;  ///< rows that each server of the target gets
  std::uint64_t changing() const;           ///< rows that go to a server of a different number

 private:
  friend std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                             const RowGroups& groups);

  std::vector<std::vector<RowRun>> of_server_;  // by server of the source; as long as possible
  std::vector<std::vector<std::uint64_t>> offsets_;
};

/// Returns such a move if both sides have the same shards (`from` and `to` compute them from keys by the same steps),
/// whatever the servers that hold them. The table's offsets must have been read.
std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                    const RowGroups& groups);

}  // namespace ckpt
