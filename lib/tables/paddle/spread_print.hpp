#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tables/keyed/batches.hpp"
#include "tables/paddle/row_lines.hpp"

namespace ckpt {

/// The resources of a process for printing rows that lie anywhere.
struct SpreadContext {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
  std::size_t most_open = 1;  ///< files that are written at a time
  bool is_gzip = false;
};

/// Prints the lines of some shards from rows that lie anywhere. Reads the whole source in order, one batch in each
/// thread, and appends the lines of these shards' rows to their files in that order. So the files do not depend on
/// processes, threads and memory. Tails are held in memory. If the tails of all shards, or the files' buffers, exceed
/// the memory, ranges of shards are printed one after another, each with a reading of its own.
class SpreadPrint {
 public:
  /// `shards`: ascending. Counts the tails of each. Throws usage if those of a single shard do not fit. `print` and
  /// `reader` must outlive it; its keys must have been checked (check_keys).
  SpreadPrint(const RowPrint& print, std::vector<std::uint64_t> shards, TableReader& reader,
              const SpreadContext& context);

  /// Returns how often the source is read.
  std::size_t readings() const noexcept { return ranges_.size(); }

  /// Writes the shards for which `wants` is true, and reports each to `take` when it is complete. Throws input for
  /// tails without a row.
  void write(const std::function<bool(std::uint64_t)>& wants, const std::function<void(const MovedShard&)>& take,
             bool fsync, Traffic& traffic);

 private:
  /// A batch's lines, gathered by the shards that they go to.
  struct BatchLines {
    std::vector<std::uint64_t> keys;
    std::vector<float> values;
    std::vector<std::size_t> order;  // rows by their shard's index among those written
    std::string text;
    std::vector<std::size_t> ends;  // ends in the text, by that index
  };
  /// Shards that are written together.
  struct Range {
    std::vector<std::uint64_t> shards;
    std::vector<std::uint32_t> places;  // by shard of the table: its index among these
    RowTails tails;
    std::vector<std::unique_ptr<PrintedShard>> files;
  };

  std::uint64_t row_bytes() const;
  Batches batches(const StoredTable& table) const;
  void count_tails();
  void make_ranges(const std::vector<std::uint64_t>& shards);
  void hold_tails(Range& range, Traffic& traffic);
  void print_batch(const Batch& batch, Range& range, BatchLines& lines, Traffic& traffic) const;
  void print_all(Range& range, Traffic& traffic);

  const RowPrint& print_;
  TableReader& reader_;
  SpreadContext context_;
  std::uint64_t batch_rows_ = 1;
  std::size_t buffer_bytes_ = 0;
  std::vector<std::vector<std::uint64_t>> tails_of_;  // by table of tails and shard
  std::vector<std::vector<std::uint64_t>> ranges_;    // shards of each range
};

}  // namespace ckpt
