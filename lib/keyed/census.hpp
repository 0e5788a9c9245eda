#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "keyed/stored_table.hpp"
#include "keyed/table_share.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// What a census may use on each process, the same on all.
struct CensusMeans {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
};

/// A table's keys, counted by the servers that they are to go to.
struct TableCensus {
  TableShare share;                                 ///< of this process
  std::uint64_t groups = 0;                         ///< of the target's rows (RowGroups)
  std::vector<std::uint64_t> group_rows;            ///< of this table that each group gets
  std::vector<std::uint64_t> rows;                  ///< that each target server gets, of all layers
  std::vector<std::vector<std::uint64_t>> offsets;  ///< where each server's groups of rows begin, and the end
  std::vector<std::uint64_t> start;  ///< row on its server of each own batch's first row in each group: batch by batch
  PartialSum keys;                   ///< of all taken (TablePart::sums); the number of keys stands for their bytes
  std::uint64_t changing = 0;        ///< rows that go to a server of another number

  /// By the index of a batch in `share.own`.
  std::uint64_t start_of(std::size_t own_batch, std::uint64_t group) const { return start[own_batch * groups + group]; }
};

/// A table's batches for a census with so many groups, dealt to processes; all rows are taken. Throws usage where so
/// many groups and batches are more than the memory has room for.
TableShare share_table(const StoredTable& table, const Checkpoint& checkpoint, std::uint64_t groups,
                       const CensusMeans& means, const Communicator& processes);

/// Reads all keys of a table once. Throws input for a key that its own place puts on another server or in another shard
/// than it lies in, or that `to` puts nowhere, naming file, row, key and both servers or shards; and for keys that
/// stand twice, taken or not. With `to`, tells how many rows that are taken go to each group, and of each batch where
/// in it: in the order of the source's servers and positions, whatever batches and processes there are; `place_rows`
/// makes of that where they lie. `share`: as share_table gives it. Collective.
TableCensus take_census(const StoredTable& table, TableReader& reader, const std::optional<RowGroups>& to,
                        TableShare share, const CensusMeans& means, Communicator& processes);

/// Says where rows go on their servers, one group behind the other, in each the rows of one layer behind those of the
/// layer before it: of censuses of the layers of one table, which until then tell it as if each were alone in its
/// group.
void place_rows(std::span<TableCensus* const> layers, const RowGroups& to);

/// Checks all keys of a table as `take_census` does; gives their sum (TableCensus::keys).
PartialSum check_keys(const StoredTable& table, TableReader& reader, const CensusMeans& means, Communicator& processes);

/// The most bytes that a batch of rows takes where each thread has one: packed, as messages, and what comes from
/// others.
std::uint64_t batch_bytes(std::uint64_t memory_bytes, unsigned threads);

}  // namespace ckpt
