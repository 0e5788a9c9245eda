#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "keyed/stored_table.hpp"

namespace ckpt {

/// A table whose shards go to other servers as they are. Its rows, shard by shard, are ordinary tensors that the
/// servers of either side have one piece of each: regions move them, and no key is looked at.
struct RangeMove {
  StoredTable table;
  std::vector<std::vector<std::uint64_t>>
      offsets;  ///< where the shards begin on each server of the target, and the end

  std::vector<std::uint64_t> rows() const;  ///< that each server of the target gets
};

/// That, where both sides have the same shards (those of `from` and `to` are got from keys by the same steps) in the
/// same order. The table's offsets have been read.
std::optional<RangeMove> range_move(const StoredTable& table, const KeyedTable& from, const KeyedTable& to,
                                    const RowGroups& groups);

}  // namespace ckpt
