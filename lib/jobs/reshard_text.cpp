#include "jobs/reshard_text.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/parallel.hpp"
#include "checkpoint/look.hpp"
#include "checkpoint/manifest.hpp"
#include "jobs/stopwatch.hpp"
#include "jobs/summary.hpp"
#include "keyed/row_sums.hpp"
#include "layout/paddle_tables.hpp"
#include "paddle_files/line_move.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

using Json = nlohmann::json;

/// What whole lines cannot become.
void check_text_job(const ReshardJob& job) {
  const auto refuse = [](const char* object, const char* remedy) {
    throw Error(Kind::usage, object,
                {"the tables are Paddle's text on both sides", "expected a job that moves whole lines", remedy});
  };
  if (job.output.is_single_file || job.output.is_pipe) refuse("the output", "write to a directory with ckpt-reshard");
  if (job.target.file_bytes) refuse("--shard-size", "leave it out");
  if (!job.format.empty()) refuse("--format", "leave it out");
  if (job.is_view) refuse("--virtual", "leave it out");
  if (job.has_checksums) refuse("--crc", "leave it out");
  if (job.keeps_trees) refuse("--leaves", "leave it out");
  if (!job.casts.empty()) refuse("--cast", "leave it out");
  if (!job.names.only.empty() || !job.names.drop.empty() || !job.names.rename.empty())
    refuse("--only, --drop or --rename", "leave out of both layouts the tables that you do not want");
  if (job.expectation) refuse("what the output is expected to be", "leave it out");
  if (job.resources.exchange != ExchangeKind::automatic && job.resources.exchange != ExchangeKind::direct)
    refuse("--exchange", "every process reads the files whose lines it writes: leave it out");
}

/// A process's share of a table's groups.
struct TextTask {
  LineMove move;
  std::vector<std::uint64_t> groups;
};

/// What a process says of a file that it has written.
struct ShardMessage {
  std::uint64_t shard = 0;
  std::uint64_t bytes = 0;
  PartialSum lines;
  PartialSum content;

  static auto fields(auto& self) { return std::tie(self.shard, self.bytes, self.lines, self.content); }
};

class TextRun {
 public:
  TextRun(const ReshardJob& job, TextLayouts layouts, Stores& stores, Communicator& processes, Counters& counters)
      : job_(job), layouts_(std::move(layouts)), stores_(stores), processes_(processes), counters_(counters) {
    report_.exchange = "direct";
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job.resources, processes);
  }

  Report perform() {
    agree(processes_, [&] {
      check_text_job(job_);
      if (job_.dry_run && job_.output.path.empty()) return;
      output_.emplace(job_.output);
      output_->check_source(job_.source.path);
      output_->check_sources(job_.spared_files);
      output_->check_free();
    });
    try {
      make();
    } catch (Error& error) {
      if (output_) output_->fail(error);
      throw;
    }
    counters_.phase = Phase::done;
    add_up(counters_, processes_, report_);
    return report_;
  }

 private:
  bool is_verified() const { return job_.verify != Verify::none; }
  std::uint64_t servers() const { return layouts_.target.mesh.size(); }
  void time(const char* phase) { report_.seconds[phase] += watch_.lap(); }

  void make() {
    counters_.phase = Phase::catalog;
    most_open_ = open_files_allowed(job_.resources, processes_);
    agree(processes_, [&] { find(); });
    time("catalog");
    counters_.phase = Phase::plan;
    agree(processes_, [&] {
      plan();
      if (output_ && processes_.rank() == 0) output_->plan(layouts_.target, {}, stores_.named("hdf5"));
    });
    time("plan");
    if (!job_.dry_run) begin();
    counters_.phase = Phase::move;
    for (TextTask& task : tasks_) moved_.push_back(move(task));
    time("move");
    for (std::size_t i = 0; i < tasks_.size(); ++i) tell_rows(i);
    if (job_.dry_run) return;
    if (job_.verify == Verify::reread) reread();
    publish();
  }

  void find() {
    tables_ = find_text_tables(layouts_.source, job_.source.path);
    report_.source_cards = layouts_.source.mesh.size();
    report_.target_cards = servers();
    report_.target_files = file_names(layouts_.target).size();
    for (const TextTable& table : tables_) {
      report_.source_files += table.files.size();
      report_.bytes_to_read += std::accumulate(table.bytes.begin(), table.bytes.end(), std::uint64_t{0});
      if (output_) output_->check_sources(table.files);
    }
    counters_.bytes_total = report_.bytes_to_read / report_.processes;
  }

  /// The target's table of this name, whose lines have the same fields.
  const KeyedTable& target_of(const TextTable& table) const {
    const auto& targets = layouts_.target.tables;
    const auto found =
        std::find_if(targets.begin(), targets.end(), [&](const auto& each) { return each.name.text() == table.name; });
    if (found == targets.end() || targets.size() != tables_.size())
      throw Error(Kind::layout, "table '" + table.name + "'",
                  {layouts_.target.origin + " has " + std::to_string(targets.size()) + " tables, " +
                       (found == targets.end() ? "and none of this name" : "this one among them"),
                   "expected the " + std::to_string(tables_.size()) + " of " + layouts_.source.origin,
                   "give both layouts the same tables"});
    const Accessor& from = layouts_.source.tables[table.entry].text->accessor;
    const Accessor& to = found->text->accessor;
    if (std::tie(from.kind, from.embedx_dim, from.embed_rule, from.embedx_rule) !=
        std::tie(to.kind, to.embedx_dim, to.embed_rule, to.embedx_rule))
      throw Error(Kind::layout, "table '" + table.name + "'",
                  {layouts_.target.origin + " has another \"accessor\" than " + layouts_.source.origin,
                   "expected the same: lines stay as they are", "give the target's layout the source's accessor"});
    return *found;
  }

  void plan() {
    for (TextTable& table : tables_) {
      const KeyedTable& target = target_of(table);
      Regrouping groups(table.shards(), target.text->shards);
      TextTask task{{std::move(table), groups, {}, target.text->shards}, {}};
      for (auto group = static_cast<std::uint64_t>(processes_.rank()); group < groups.groups();
           group += report_.processes)
        task.groups.push_back(group);
      if (!job_.dry_run)
        for (const std::string& path : shard_paths(target, servers())) task.move.targets.push_back(output_->file(path));
      buffers_.push_back(line_buffers(job_.resources.memory_bytes, static_cast<unsigned>(report_.threads),
                                      target.text->shards / groups.groups(), target.text->is_gzip, most_open_));
      report_.staging_bytes = std::max(report_.staging_bytes, memory_of(buffers_.back(), target, groups));
      tasks_.push_back(std::move(task));
    }
  }

  static std::uint64_t memory_of(const LineBuffers& buffers, const KeyedTable& target, const Regrouping& groups) {
    return buffers.threads *
           (2 * buffers.piece_bytes + target.text->shards / groups.groups() *
                                          TextOutput::memory_bytes(buffers.buffer_bytes, target.text->is_gzip));
  }

  void begin() {
    std::string token;
    agree(processes_, [&] {
      if (processes_.rank() != 0) return;
      output_->claim();
      token = output_->token();
      if (job_.output.resume) spdlog::warn("there is nothing to go on with: jobs on files of text write all anew");
      Json job;
      job["ckpt_journal"] = 1;
      job["to"] = Json::parse(to_json(layouts_.target));
      output_->begin(job.dump(), false);
      for (const KeyedTable& table : layouts_.target.tables)
        std::filesystem::create_directories(output_->file(table.text->directory));
    });
    token = processes_.broadcast(token, 0);
    agree(processes_, [&] {
      if (processes_.rank() != 0) output_->join(token);
    });
  }

  /// What all processes have written of a table, by shard.
  std::vector<ShardMessage> move(const TextTask& task) {
    const LineBuffers& buffers = buffers_[moved_.size()];
    std::vector<std::vector<MovedShard>> by_group(task.groups.size());
    agree(processes_, [&] {
      if (output_ && !job_.dry_run) output_->check_held();
      for_each_in_parallel(buffers.threads, task.groups.size(), [&](std::uint64_t n) {
        by_group[n] = move_lines(task.move, task.groups[n], buffers, job_.output.fsync, counters_);
      });
    });
    std::vector<ShardMessage> mine;
    for (const auto& group : by_group)
      for (const MovedShard& shard : group)
        mine.push_back({shard.shard, shard.written.bytes, shard.written.lines, shard.written.content});
    std::vector<ShardMessage> all;
    for (auto& of_process : gather_all(mine, processes_)) all.insert(all.end(), of_process.begin(), of_process.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.shard < b.shard; });
    return all;
  }

  void tell_rows(std::size_t number) {
    const LineMove& move = tasks_[number].move;
    const KeyedTable& target = target_of(move.source);
    const auto server_of = servers_of_shards(target, servers());
    Report::TableUse& use = report_.tables.emplace_back();
    use.name = move.source.name;
    use.is_text = true;
    use.rows.resize(servers());
    for (const ShardMessage& shard : moved_[number]) {
      use.rows[server_of[shard.shard]] += shard.lines.bytes;
      if (!job_.dry_run || !target.text->is_gzip) report_.bytes_to_write += shard.bytes;  // else nobody knows
    }
  }

  /// Reads what this process has written from the storage, checked as a source is.
  void reread() {
    counters_.phase = Phase::reread;
    agree(processes_, [&] {
      for (std::size_t i = 0; i < tasks_.size(); ++i) {
        const LineMove& move = tasks_[i].move;
        std::vector<const ShardMessage*> own;
        for (const ShardMessage& shard : moved_[i])
          if (shard.shard % move.groups.groups() % report_.processes == std::uint64_t(processes_.rank()))
            own.push_back(&shard);
        for_each_in_parallel(buffers_[i].threads, own.size(),
                             [&](std::uint64_t n) { reread(move, *own[n], buffers_[i].piece_bytes); });
      }
    });
    time("reread");
  }

  static void reread(const LineMove& move, const ShardMessage& shard, std::size_t piece_bytes) {
    const std::filesystem::path& file = move.targets[static_cast<std::size_t>(shard.shard)];
    const PosixFile written = PosixFile::open_for_writing(file);
    written.sync();
    written.drop_cached();
    const PartialSum found = sum_lines(file, move.source.fields, {shard.shard, move.target_shards}, piece_bytes);
    if (!(found == shard.lines))
      throw Error(Kind::io, file.string(),
                  {"its lines, read back, are not those that were written", "expected equal sums",
                   "nothing is published; is the storage in order?"});
  }

  ManifestTable table_of(std::size_t number) const {
    const LineMove& move = tasks_[number].move;
    const auto server_of = servers_of_shards(target_of(move.source), servers());
    ManifestTable table{move.source.name, {"lines"}, report_.tables[number].rows, {}, {}};
    if (!is_verified()) return table;
    std::vector<PartialSum> of_server(servers());
    PartialSum all;
    for (const ShardMessage& shard : moved_[number]) {
      of_server[server_of[shard.shard]] += shard.lines;
      all += shard.lines;
    }
    table.all.push_back(row_fingerprint(all));
    for (const PartialSum& sum : of_server) table.servers.push_back({row_fingerprint(sum)});
    return table;
  }

  std::string manifest_text() const {
    std::vector<ManifestFile> files;
    std::vector<ManifestTable> tables;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const KeyedTable& target = target_of(tasks_[i].move.source);
      const auto server_of = servers_of_shards(target, servers());
      const auto paths = shard_paths(target, servers());
      for (const ShardMessage& shard : moved_[i])
        files.push_back({paths[shard.shard], layouts_.target.mesh.card(server_of[shard.shard]), shard.bytes,
                         is_verified() ? to_string(fingerprint(shard.content, paths[shard.shard])) : ""});
      tables.push_back(table_of(i));
    }
    return manifest(layouts_.target, files, tables);
  }

  void publish() {
    counters_.phase = Phase::publish;
    agree(processes_, [&] {
      check_interrupt();  // for the last time: nobody may fail beside the one that publishes
      output_->check_held();
      if (processes_.rank() != 0) output_->leave();
    });
    agree(processes_, [&] {
      if (processes_.rank() != 0) return;
      output_->write_text(manifest_name, manifest_text());
      output_->publish();
    });
    time("publish");
  }

  const ReshardJob& job_;
  TextLayouts layouts_;
  Stores& stores_;
  Communicator& processes_;
  Counters& counters_;
  Report report_;
  Stopwatch watch_;
  std::size_t most_open_ = 0;
  std::optional<Output> output_;  // none where a dry run is told of none
  std::vector<TextTable> tables_;
  std::vector<TextTask> tasks_;
  std::vector<LineBuffers> buffers_;              // of each task
  std::vector<std::vector<ShardMessage>> moved_;  // likewise
};

[[noreturn]] void refuse_text_target(const std::string& text) {
  throw Error(Kind::usage, text,
              {"its tables are Paddle's text, and those of the source are not", "expected text on both sides",
               "write files of datasets"});
}

}  // namespace

std::optional<TextLayouts> text_layouts(const ReshardJob& job, Communicator& processes) {
  std::optional<Error> damaged;
  std::optional<Layout> source = job.source.layout;
  if (!source) source = manifest_layout(job.source.path, damaged, processes);
  std::optional<TextLayouts> layouts;
  agree(processes, [&] {
    const bool from = source && has_paddle_text(*source);
    const bool to = job.target.layout && has_paddle_text(*job.target.layout);
    if (!from && to) refuse_text_target(job.target.layout->origin);
    if (!from || job.target.file_bytes || job.output.is_single_file) return;
    TextLayouts both{*source, target_layout(job.target, *source)};
    if (has_paddle_text(both.target)) layouts = std::move(both);
  });
  return layouts;
}

Report reshard_text(const ReshardJob& job, TextLayouts layouts, Stores& stores, Communicator& processes,
                    Counters& counters) {
  return TextRun(job, std::move(layouts), stores, processes, counters).perform();
}

}  // namespace ckpt
