#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/reshard.hpp"
#include "paddle_files/line_move.hpp"

namespace ckpt {

/// Throws usage for what a job that writes Paddle's text cannot do.
void check_text_target(const ReshardJob& job);

/// What jobs that write Paddle's text have in common: the place, its publication, and what manifest and report tell of
/// the tables. Shards are written by one process each.
class TextTarget {
 public:
  /// Throws as Output, and as check_text_target. Collective.
  TextTarget(const ReshardJob& job, const Layout& layout, Communicator& processes);

  const Layout& layout() const noexcept { return layout_; }
  std::uint64_t servers() const { return layout_.mesh.size(); }
  /// Whether files are written: not in a dry run.
  bool is_written() const noexcept { return output_ && !job_.dry_run; }
  /// Throws usage where one of these would be written over.
  void check_sources(const std::vector<std::filesystem::path>& files) const;
  /// Where a table's files are made, by shard; none in a dry run.
  std::vector<std::filesystem::path> files(const KeyedTable& table) const;

  /// Makes the place. Collective.
  void begin(Stores& stores);
  /// Takes down what the processes have written of a table, each what is `mine`. Collective.
  void add(const KeyedTable& table, const std::vector<MovedShard>& mine, Report& report);
  /// Reads what this process has written from the storage, checked as a source is. Collective.
  void reread(unsigned threads, std::size_t piece_bytes);
  /// Collective.
  void publish();
  /// The job fails with this error (Output::fail).
  void fail(Error& error);

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
  };
  bool is_verified() const { return job_.verify != Verify::none; }
  static void reread(const Table& table, const std::filesystem::path& path, std::uint64_t shard,
                     std::size_t piece_bytes);
  ManifestTable summary(const Table& table) const;
  std::string manifest_text() const;

  const ReshardJob& job_;
  const Layout& layout_;
  Communicator& processes_;
  std::optional<Output> output_;  // none where a dry run is told of none
  std::vector<Table> tables_;
};

}  // namespace ckpt
