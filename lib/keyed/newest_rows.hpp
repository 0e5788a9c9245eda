#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "keyed/table_share.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// A table as one checkpoint has it, and what of it is taken.
struct SharedTable {
  const StoredTable& table;
  TableReader& reader;
  TableShare& share;
};

/// A checkpoint among those of which the newer ones replace rows of the older.
struct TableLayer {
  SharedTable rows;
  std::vector<SharedTable> tails;        ///< rows that only some keys have: each goes where its key's row goes
  std::optional<SharedTable> deletions;  ///< keys that older layers have no more
};

/// Takes of all layers, oldest first, only the newest row of each key, unless it is not taken there: then none. A key
/// that a layer deletes is gone from older layers. Tails are taken with the row of their layer. Throws input for a tail
/// whose key has no row in its layer. Keys go to the process that compares them, in subsets that fit into
/// `memory_bytes`. Collective.
void take_newest_rows(const std::vector<TableLayer>& layers, std::uint64_t memory_bytes, unsigned threads,
                      Communicator& processes);

}  // namespace ckpt
