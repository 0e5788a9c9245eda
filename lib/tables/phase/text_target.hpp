#pragma once

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/types/reshard_job.hpp"
#include "output/journal.hpp"
#include "tables/paddle/line_move.hpp"

namespace ckpt {

/// The tables of a job's output that are Paddle's text: where their files are made, how much an earlier run wrote, and
/// what manifest and report say about them. One process writes a shard.
class TextTarget {
 public:
  TextTarget(const ReshardJob& job, const Layout& layout, Communicator& processes)
      : job_(job), layout_(layout), processes_(processes) {}

  const Layout& layout() const noexcept { return layout_; }
  std::uint64_t servers() const { return layout_.mesh.size(); }

  /// From here on files are written, in an output that has begun; `journal`: null if nothing is verified. With `go_on`,
  /// an earlier run wrote some of them. Collective; without this call, as in a dry run, lines are only counted.
  void begin(const Output& output, Journal* journal, bool go_on);
  bool is_written() const noexcept { return output_ != nullptr; }
  /// The paths of a table's files, by shard; empty if nothing is written.
  std::vector<std::filesystem::path> files(const KeyedTable& table) const;

  /// Throws io if the output belongs to another job now; to be called before making files.
  void check_held() const;
  /// How far an earlier run brought these shards of a table, which are written together: the last state that it
  /// recorded for all of them, if it is read back and found good; else nothing. `files`: the table's.
  GroupProgress left_of(const KeyedTable& table, const std::vector<std::uint64_t>& shards,
                        const std::vector<std::filesystem::path>& files);
  /// The bytes that this process found good so.
  std::uint64_t bytes_left() const noexcept { return bytes_left_; }
  /// Records the progress of these shards. Threads may call it.
  void note(const KeyedTable& table, const std::vector<std::uint64_t>& shards, const GroupProgress& progress) const;

  /// Adds the shards of a table that the processes wrote, each its own `mine`. Collective.
  void add(const KeyedTable& table, const std::vector<MovedShard>& mine, std::vector<KeptRows> kept_before,
           Report& report);
  /// Reads what this process wrote back from the storage, checked as a source is. Collective.
  void reread(unsigned threads, std::size_t piece_bytes);
  /// The manifest's facts about everything that was added.
  std::vector<ManifestFile> manifest_files() const;
  std::vector<ManifestTable> manifest_tables() const;

 private:
  /// A shard's file, as reported by the process that wrote it.
  struct ShardMessage {
    std::uint64_t shard = 0;
    std::uint64_t bytes = 0;
    PartialSum lines;
    PartialSum content;
  };
  struct Table {
    const KeyedTable* said;
    std::vector<ShardMessage> shards;    // by their numbers
    std::vector<std::uint64_t> own;      // numbers of those that this process wrote
    std::vector<std::uint64_t> servers;  // of each shard
    std::vector<KeptRows> kept_before;
  };
  using Notes = std::map<std::uint64_t, JournalRecord>;  // by how many sources were done

  std::uint64_t number(const KeyedTable& table) const {
    return static_cast<std::uint64_t>(&table - layout_.tables.data());
  }
  bool is_verified() const { return job_.verify != Verify::none; }
  static void reread(const Table& table, const std::filesystem::path& path, std::uint64_t shard,
                     std::size_t piece_bytes);
  ManifestTable summary(const Table& table) const;

  const ReshardJob& job_;
  const Layout& layout_;
  Communicator& processes_;
  const Output* output_ = nullptr;
  Journal* journal_ = nullptr;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Notes> earlier_;  // by table and shard
  std::atomic<std::uint64_t> bytes_left_{0};
  std::vector<Table> tables_;
};

}  // namespace ckpt
