#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "keyed/batches.hpp"
#include "paddle_files/row_lines.hpp"

namespace ckpt {

/// What printing rows that lie anywhere may use on a process.
struct SpreadMeans {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
  std::size_t most_open = 1;  ///< files that are written
  bool is_gzip = false;
};

/// The lines of some shards, from rows that lie anywhere: all of the source is read in its order, a batch by each
/// thread, and the lines of these shards' rows are appended to their files in that order. So the files do not depend
/// on processes, threads and memory. Tails are held in memory. Where those of all shards, or the files' buffers, are
/// more than there is room for, a range of the shards comes after the other, each with a reading of its own.
class SpreadPrint {
 public:
  /// `shards`: ascending. Counts the tails of each. Throws usage where one shard's have no room. `print` and `reader`
  /// must outlive it; its keys have been checked (check_keys).
  SpreadPrint(const RowPrint& print, std::vector<std::uint64_t> shards, TableReader& reader, const SpreadMeans& means);

  /// How often the source is read.
  std::size_t readings() const noexcept { return ranges_.size(); }

  /// Writes the shards but those that `wants` says are there, and tells `take` of each that is whole. Throws input
  /// for tails of no row.
  void write(const std::function<bool(std::uint64_t)>& wants, const std::function<void(const MovedShard&)>& take,
             bool fsync, Traffic& traffic);

 private:
  /// A batch's lines, put together by the shards that they go to.
  struct BatchLines {
    std::vector<std::uint64_t> keys;
    std::vector<float> values;
    std::vector<std::size_t> order;  // rows by their shards' places among those written
    std::string text;
    std::vector<std::size_t> ends;  // in the text, of each place
  };
  /// Shards that are written together.
  struct Range {
    std::vector<std::uint64_t> shards;
    std::vector<std::uint32_t> places;  // among them, of each shard of the table
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
  SpreadMeans means_;
  std::uint64_t batch_rows_ = 1;
  std::size_t buffer_bytes_ = 0;
  std::vector<std::vector<std::uint64_t>> tails_of_;  // by the table of tails, of each shard
  std::vector<std::vector<std::uint64_t>> ranges_;    // shards of each
};

}  // namespace ckpt
