#pragma once

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/reshard.hpp"
#include "output/journal.hpp"
#include "paddle_files/line_move.hpp"

namespace ckpt {

/// The tables of a job's output that are Paddle's text: where their files are made, how far an earlier run has brought
/// them, and what manifest and report tell of them. A shard is written by one process.
class TextTarget {
 public:
  TextTarget(const ReshardJob& job, const Layout& layout, Communicator& processes)
      : job_(job), layout_(layout), processes_(processes) {}

  const Layout& layout() const noexcept { return layout_; }
  std::uint64_t servers() const { return layout_.mesh.size(); }

  /// From here on files are written, in an output that has begun; `journal`: none where nothing is verified. With
  /// `go_on` an earlier run has written some of them. Collective; without it, as in a dry run, lines are only counted.
  void begin(const Output& output, Journal* journal, bool go_on);
  bool is_written() const noexcept { return output_ != nullptr; }
  /// Where a table's files are made, by shard; none where nothing is written.
  std::vector<std::filesystem::path> files(const KeyedTable& table) const;

  /// Throws io where the output is another job's now: before files are made.
  void check_held() const;
  /// How far these shards of a table, which are written together, were brought by an earlier run: what it noted last of
  /// all of them, read back and found good, or nothing. `files`: of the table.
  GroupProgress left_of(const KeyedTable& table, const std::vector<std::uint64_t>& shards,
                        const std::vector<std::filesystem::path>& files);
  /// What this process has found so.
  std::uint64_t bytes_left() const noexcept { return bytes_left_; }
  /// Writes down how far they are. Threads may call it.
  void note(const KeyedTable& table, const std::vector<std::uint64_t>& shards, const GroupProgress& progress) const;

  /// Takes down what the processes have written of a table, each what is `mine`. Collective.
  void add(const KeyedTable& table, const std::vector<MovedShard>& mine, std::vector<KeptRows> kept_before,
           Report& report);
  /// Reads what this process has written from the storage, checked as a source is. Collective.
  void reread(unsigned threads, std::size_t piece_bytes);
  /// What the manifest tells of all that was added.
  std::vector<ManifestFile> manifest_files() const;
  std::vector<ManifestTable> manifest_tables() const;

 private:
  /// A shard's file as the process that wrote it tells of it.
  struct ShardMessage {
    std::uint64_t shard = 0;
    std::uint64_t bytes = 0;
    PartialSum lines;
    PartialSum content;

    static auto fields(auto& self) { return std::tie(self.shard, self.bytes, self.lines, self.content); }
  };
  struct Table {
    const KeyedTable* said;
    std::vector<ShardMessage> shards;    // by their numbers
    std::vector<std::uint64_t> own;      // numbers of those that this process has written
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
