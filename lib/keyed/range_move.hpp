#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "keyed/stored_table.hpp"

namespace ckpt {

/// Rows that lie together on a server of the source, and will on one of the target.
struct RowRun {
  Interval rows;            ///< of the source's server
  Position server = 0;      ///< of the target
  std::uint64_t first = 0;  ///< row there
};

/// Where the rows of a table go whose shards move to other servers as they are: keys are needed only to be checked.
class RangeMove {
 public:
  /// The runs of some rows of a server of the source, in their order.
  std::vector<RowRun> runs(Position server, const Interval& rows) const;
  /// Where the shards begin on each server of the target, and the end.
  const std::vector<std::vector<std::uint64_t>>& offsets() const noexcept { return offsets_; }
  std::vector<std::uint64_t> rows() const;  ///< that each server of the target gets
  std::uint64_t changing() const;           ///< rows that go to a server of another number

 private:
  friend std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                             const RowGroups& groups);

  std::vector<std::vector<RowRun>> of_server_;  // of the source; as long as can be
  std::vector<std::vector<std::uint64_t>> offsets_;
};

/// That, where both sides have the same shards (those of `from` and `to` are got from keys by the same steps), whatever
/// servers these are dealt to. The table's offsets have been read.
std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                    const RowGroups& groups);

}  // namespace ckpt
