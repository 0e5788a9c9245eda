#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "keyed/batches.hpp"
#include "keyed/stored_table.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// What a census may use on each process.
struct CensusMeans {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
};

/// A table's keys, counted by the servers that they are to go to.
struct TableCensus {
  Batches batches;
  std::vector<std::uint64_t> own;                   ///< numbers of this process's batches, ascending
  std::uint64_t groups = 0;                         ///< of the target's rows (RowGroups)
  std::vector<std::uint64_t> rows;                  ///< that each target server gets
  std::vector<std::vector<std::uint64_t>> offsets;  ///< where each server's groups of rows begin, and the end
  std::vector<std::uint64_t> start;  ///< row on its server of each own batch's first row in each group: batch by batch
  PartialSum keys;                   ///< of all keys (TablePart::sums); the number of keys stands for their bytes
  std::uint64_t changing = 0;        ///< rows that go to a server of another number

  /// By the index of a batch in `own`.
  std::uint64_t start_of(std::size_t own_batch, std::uint64_t group) const { return start[own_batch * groups + group]; }
};

/// Reads all keys of a table once. Throws input for a key that its own place puts on another server or in another shard
/// than it lies in, or that `to` puts nowhere, naming file, row, key and both servers or shards; and for keys that
/// stand twice. With `to`, tells where all rows go, in each group in the order of the source's servers and positions,
/// whatever batches and processes there are; without one nothing of that. Throws usage where so many groups and batches
/// are more than the memory has room for. Collective.
TableCensus take_census(const StoredTable& table, TableReader& reader, const std::optional<RowGroups>& to,
                        const CensusMeans& means, Communicator& processes);

/// The most bytes that a batch of rows takes where each thread of each process has one, and its packed copy.
std::uint64_t batch_bytes(std::uint64_t memory_bytes, unsigned threads, std::uint32_t processes);

}  // namespace ckpt
