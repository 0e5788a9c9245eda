#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "tables/keyed/batches.hpp"
#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// A batch's rows, gathered by the group that they go to, in their order.
struct PackedBatch {
  std::span<const std::uint64_t> ends;        ///< end of each group's rows among them
  std::vector<const std::byte*> parts;        ///< rows of each part of the table, valid until the packer's next batch
  std::vector<std::vector<PartialSum>> read;  ///< by part and group, summed as read; empty: not requested
  std::uint64_t bytes_read = 0;
};

/// What to make of a batch.
struct PackOrder {
  const StoredTable& table;
  const RowGroups& to;
  std::span<const std::uint64_t> kept;  ///< see TableShare; empty: all rows
  bool is_summed = true;
};

/// Packs one batch after another, on one thread. It keeps its memory for the next batch, as fresh memory is slow.
class BatchPacker {
 public:
  /// Throws io if keys that the census has seen no longer have a group.
  PackedBatch pack(const PackOrder& order, TableReader& reader, const Batch& batch);
  /// Returns the rows of each part of a table in their stored order, valid until the packer's next batch.
  std::vector<const std::byte*> read(const StoredTable& table, TableReader& reader, const Batch& batch);

 private:
  void sort(const PackOrder& order, TableReader& reader, const Batch& batch);
  void read_part(const PackOrder& order, TableReader& reader, const Batch& batch, const TablePart& part,
                 std::byte* target, std::span<PartialSum> read);
  void put(const TablePart& part, const Interval& rows, const std::byte* source, std::byte* target,
           std::span<PartialSum> read) const;

  std::vector<std::uint64_t> keys_;    // keys of the rows that are taken
  std::vector<std::uint64_t> groups_;  // group of each of these rows
  std::vector<std::uint32_t> slots_;   // place of each of these rows among all; a batch has fewer than 2^32 rows
  std::vector<std::uint64_t> ends_;
  Buffer piece_;
  Buffer packed_;
};

}  // namespace ckpt
