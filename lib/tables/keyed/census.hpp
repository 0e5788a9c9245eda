#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jobs/types/resources.hpp"
#include "processes/communicator.hpp"
#include "tables/keyed/stored_table.hpp"
#include "tables/keyed/table_share.hpp"

namespace ckpt {

/// The resources of a census on each process, the same on all.
struct CensusContext {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
};

/// What work on tables may use: half of the memory, and the threads of the process that has most. The same on every
/// process, because it decides how the work is shared. Collective.
CensusContext census_context(const Resources& resources, Communicator& processes);

/// How many bytes of tables' rows a process receives at a time: a quarter of the memory for work on tables.
std::uint64_t received_memory(const Resources& resources);

/// A table's keys, counted by the servers that they go to.
struct TableCensus {
  TableShare share;                                 ///< of this process
  std::uint64_t groups = 0;                         ///< number of groups of the target's rows (RowGroups)
  std::vector<std::uint64_t> group_rows;            ///< rows of this table that each group gets
  std::vector<std::uint64_t> rows;                  ///< rows that each target server gets, from all layers
  std::vector<std::vector<std::uint64_t>> offsets;  ///< where each server's groups of rows begin, and the end
  std::vector<std::uint64_t> start;  ///< row on its server of each own batch's first row in each group, batch by batch
  PartialSum keys;                   ///< sum of all keys taken (TablePart::sums); the number of keys replaces the
                                     ///< number of bytes
  std::uint64_t changing = 0;        ///< rows that go to a server of a different number

  /// `own_batch`: the index of a batch in `share.own`.
  std::uint64_t start_of(std::size_t own_batch, std::uint64_t group) const { return start[own_batch * groups + group]; }
};

/// Distributes a table's batches over the processes, for a census with this many groups; all rows are taken. Throws
/// usage if groups times batches exceed the memory.
TableShare share_table(const StoredTable& table, const Checkpoint& checkpoint, std::uint64_t groups,
                       const CensusContext& context, const Communicator& processes);

/// Reads all keys of a table once. Throws input for a key that its own place puts on another server, or in another
/// shard, than the one where it lies, or that `to` puts nowhere, naming file, row, key and both servers or shards; and
/// for keys that occur twice, taken or not. With `to`, counts the rows taken for each group, and computes where in the
/// group each batch's rows go. The order is that of the source's servers and positions, independent of batches and
/// processes; `place_rows` computes the final places. `share`: from share_table. Collective.
TableCensus take_census(const StoredTable& table, TableReader& reader, const std::optional<RowGroups>& to,
                        TableShare share, const CensusContext& context, Communicator& processes);

/// Computes where rows go on their servers: the groups one after another, and in each group the rows of a layer after
/// those of the previous one. It takes the censuses of the layers of one table, which until then treat each layer as if
/// it were alone in its group.
void place_rows(std::span<TableCensus* const> layers, const RowGroups& to);

/// Checks all keys of a table as `take_census` does; returns their sum (TableCensus::keys).
PartialSum check_keys(const StoredTable& table, TableReader& reader, const CensusContext& context,
                      Communicator& processes);

/// Returns the limit on the bytes of a batch of rows if each thread has one: packed, as messages, and with the rows
/// that come from others.
std::uint64_t batch_bytes(std::uint64_t memory_bytes, unsigned threads);

}  // namespace ckpt
