#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "processes/communicator.hpp"
#include "tables/keyed/table_share.hpp"

namespace ckpt {

/// A table in one checkpoint, and which of its rows are taken.
struct SharedTable {
  const StoredTable& table;
  TableReader& reader;
  TableShare& share;
};

/// A checkpoint in a sequence in which newer ones replace rows of older ones.
struct TableLayer {
  SharedTable rows;
  std::vector<SharedTable> tails;        ///< tables with rows for only some keys: each row goes where its key's row
                                         ///< goes
  std::optional<SharedTable> deletions;  ///< keys that are deleted from older layers
};

/// From all layers, oldest first, takes only the newest row of each key, or none if that row is not taken in its layer.
/// A key that a layer deletes is gone from older layers. Tails are taken with the row of their layer. Throws input for
/// a tail whose key has no row in its layer. Keys go to the process that compares them, in subsets that fit into
/// `memory_bytes`. Collective.
void take_newest_rows(const std::vector<TableLayer>& layers, std::uint64_t memory_bytes, unsigned threads,
                      Communicator& processes);

}  // namespace ckpt
