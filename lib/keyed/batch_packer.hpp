#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "keyed/batches.hpp"
#include "keyed/stored_table.hpp"

namespace ckpt {

/// A batch's rows, put together by the group that they go to, in their order.
struct PackedBatch {
  std::span<const std::uint64_t> ends;        ///< of each group's rows among them
  std::vector<const std::byte*> parts;        ///< of the table: rows of each, valid until the packer's next batch
  std::vector<std::vector<PartialSum>> read;  ///< of each part, by group, summed as read; empty: not wanted
  std::uint64_t bytes_read = 0;
};

/// What a batch is to become.
struct PackOrder {
  const StoredTable& table;
  const RowGroups& to;
  std::span<const std::uint64_t> kept;  ///< as TableShare has it; empty: all rows
  bool is_summed = true;
};

/// Packs one batch after the other, on one thread. Its memory is kept for the next, as fresh memory is slow.
class BatchPacker {
 public:
  /// Throws io where keys have no group any more, which the census has found.
  PackedBatch pack(const PackOrder& order, TableReader& reader, const Batch& batch);
  /// Rows of each part of a table as they lie, valid until the packer's next batch.
  std::vector<const std::byte*> read(const StoredTable& table, TableReader& reader, const Batch& batch);

 private:
  void sort(const PackOrder& order, TableReader& reader, const Batch& batch);
  void read_part(const PackOrder& order, TableReader& reader, const Batch& batch, const TablePart& part,
                 std::byte* target, std::span<PartialSum> read);
  void put(const TablePart& part, const Interval& rows, const std::byte* source, std::byte* target,
           std::span<PartialSum> read) const;

  std::vector<std::uint64_t> keys_;    // of the rows that are taken
  std::vector<std::uint64_t> groups_;  // of each of these
  std::vector<std::uint32_t> slots_;   // its place among all; a batch has fewer than 2^32 rows
  std::vector<std::uint64_t> ends_;
  Buffer piece_;
  Buffer packed_;
};

}  // namespace ckpt
