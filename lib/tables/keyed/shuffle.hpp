#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/traffic.hpp"
#include "output/journal.hpp"
#include "output/target_files.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"
#include "tables/keyed/batch_packer.hpp"
#include "tables/keyed/census.hpp"
#include "tables/keyed/range_move.hpp"

namespace ckpt {

/// A table that moves to other servers.
struct TableMove {
  StoredTable table;            ///< from the source; only the parts that are taken
  RowGroups to;                 ///< groups of the target
  std::vector<ArrayId> arrays;  ///< arrays of the target, by part
  TableCensus census;           ///< for `to`
  std::size_t layer = 0;        ///< index of the checkpoint in the source, oldest first: there is one move for each
                                ///< that has the table
  std::optional<RangeMove> range = {};  ///< set if whole shards move: the census has counted no rows
};

/// The context for moving tables.
struct ShuffleContext {
  std::vector<TableReader*> readers;  ///< by layer
  TargetFiles& target;
  const WriteShares& shares;  ///< which process writes which part of the target
  Traffic& traffic;
  unsigned threads = 1;
  ContentSums* sums = nullptr;       ///< collects sums of what is written; null: nothing is verified
  Journal* journal = nullptr;        ///< records what is done; null: nothing is recorded
  const Finished& finished;          ///< what an earlier run has written
  std::uint64_t received_bytes = 0;  ///< bytes that a process receives from others at a time, if from several

  /// Writes a run of an array's elements, as far as it belongs to this process and is not written yet.
  void write(const Chunk& run, std::span<const std::byte> bytes, std::uint32_t process) const;
};

/// The starts of a table's shards on each server of the target, which no source contains.
struct TableOffsets {
  std::string dataset;
  std::vector<std::vector<std::uint64_t>> of_server;
  ArrayId array = 0;  ///< an array of the target
};

/// Makes each process write its own part. Collective.
void write_offsets(const std::vector<TableOffsets>& offsets, const ShuffleContext& context, Communicator& processes);

/// Moves the rows of tables: reads each batch once, gathers its rows by the group that they go to, keeping their order,
/// and writes each of these runs where the census says. If whole shards move, rows lie in such runs already. Rows that
/// another process writes are sent there. No two batches write to the same place, so that the output does not depend on
/// processes, threads and memory.
class TableShuffle {
 public:
  TableShuffle(const std::vector<TableMove>& moves, const ShuffleContext& context, Communicator& processes);

  /// Throws io if the rows to be written differ from those that were read. Collective.
  void run();

  /// Returns the sums of each server's rows, by move, server and part, the same on every process; nothing if nothing is
  /// verified. Throws io if they are not the rows that the census has counted. Collective.
  using Sums = std::vector<std::vector<std::vector<PartialSum>>>;
  Sums sums();

 private:
  /// Rows of one batch that go to one group.
  struct Run {
    std::uint64_t move = 0;
    Position server = 0;
    std::uint64_t first = 0;  // first row on the server
    std::uint64_t rows = 0;
    std::vector<PartialSum> read;      // by part, summed by their place in the source; empty: they still lie there
    std::vector<std::uint64_t> parts;  // parts that come with it, ascending: always the keys
  };
  /// One batch of one table, by its index among this process's own.
  struct Task {
    std::size_t move = 0;
    std::size_t own_batch = 0;
  };
  using Messages = std::vector<std::string>;  // by process

  TableReader& reader_of(const TableMove& move) const { return *context_.readers[move.layer]; }
  void move_batch(const Task& task, Messages& messages);
  void move_packed(const Task& task, BatchPacker& packer, const Batch& batch, Messages& messages);
  void move_range(const Task& task, BatchPacker& packer, const Batch& batch, Messages& messages);
  BatchPacker take_packer();
  std::vector<PartialSum> sums_of(const Run& run, const std::vector<const std::byte*>& parts) const;
  Interval elements_of(const Run& run, std::size_t part) const;
  bool is_needed_by(std::uint32_t process, const Run& run, std::size_t part) const;
  bool is_counted_by(std::uint32_t process, const Run& run, std::size_t part) const;
  void deliver(Run run, const std::vector<const std::byte*>& parts, Messages& messages);
  /// `parts`: the parts of the run.
  void write(const Run& run, const std::vector<const std::byte*>& parts);
  void write_part(const Run& run, std::size_t part, std::span<const std::byte> bytes);
  void send_and_write(Messages messages);
  void send_and_write(Messages& messages, const Interval& senders, std::span<const std::uint64_t> coming);
  void exchange_and_write(Messages messages);
  [[noreturn]] void refuse(const Run& run, std::size_t part) const;

  const std::vector<TableMove>& moves_;
  ShuffleContext context_;
  Communicator& processes_;
  std::vector<Task> tasks_;
  std::mutex mutex_;
  std::vector<BatchPacker> spare_;  // not in use
  Sums sums_;                       // of everything that this process has written
};

}  // namespace ckpt
