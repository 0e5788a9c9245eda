#include "jobs/reshard_text.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"
#include "checkpoint/look.hpp"
#include "jobs/reshard_plan.hpp"
#include "jobs/stopwatch.hpp"
#include "jobs/summary.hpp"
#include "jobs/text_target.hpp"
#include "layout/paddle_tables.hpp"
#include "paddle_files/line_move.hpp"
#include "paddle_files/row_print.hpp"

namespace ckpt {

namespace {

/// What both kinds of jobs go through; how lines come about is theirs.
class TextJob {
 public:
  TextJob(const ReshardJob& job, const Layout& target, Communicator& processes, Counters& counters)
      : job_(job), target_(job, target, processes), processes_(processes), counters_(counters) {
    report_.exchange = "direct";
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job.resources, processes);
    report_.target_cards = target.mesh.size();
    report_.target_files = file_names(target).size();
  }
  virtual ~TextJob() = default;
  TextJob(const TextJob&) = delete;
  TextJob& operator=(const TextJob&) = delete;
  TextJob(TextJob&&) = delete;
  TextJob& operator=(TextJob&&) = delete;

  Report perform(Stores& stores) {
    try {
      counters_.phase = Phase::catalog;
      look(stores);
      time("catalog");
      target_.begin(stores);
      time("plan");
      counters_.phase = Phase::move;
      for (const KeyedTable& table : target_.layout().tables) target_.add(table, write(table), report_);
      time("move");
      if (!job_.dry_run) finish(stores);
    } catch (Error& error) {
      target_.fail(error);
      throw;
    }
    counters_.phase = Phase::done;
    add_up(counters_, processes_, report_);
    return report_;
  }

 protected:
  /// Finds out what there is; `write` then makes this process's share of a table's files.
  virtual void look(Stores& stores) = 0;
  virtual std::vector<MovedShard> write(const KeyedTable& table) = 0;
  /// Before publishing: whether sources have changed.
  virtual void check_sources(Stores& /*stores*/) {}

  unsigned threads() const { return static_cast<unsigned>(report_.threads); }
  /// This process's share of so many.
  std::vector<std::uint64_t> share(std::uint64_t count) const {
    std::vector<std::uint64_t> own;
    for (auto n = static_cast<std::uint64_t>(processes_.rank()); n < count; n += report_.processes) own.push_back(n);
    return own;
  }

  const ReshardJob& job_;
  TextTarget target_;
  Communicator& processes_;
  Counters& counters_;
  Report report_;

 private:
  void finish(Stores& stores) {
    constexpr std::size_t reread_at_once = 1ULL << 20;
    if (job_.verify == Verify::reread) {
      counters_.phase = Phase::reread;
      target_.reread(threads(), reread_at_once);
      time("reread");
    }
    counters_.phase = Phase::publish;
    agree(processes_, [&] { check_sources(stores); });
    target_.publish();
    time("publish");
  }
  void time(const char* phase) { report_.seconds[phase] += watch_.lap(); }

  Stopwatch watch_;
};

/// Text to text.
class LineJob final : public TextJob {
 public:
  LineJob(const ReshardJob& job, const Layout& source, const Layout& target, Communicator& processes,
          Counters& counters)
      : TextJob(job, target, processes, counters), source_(source) {}

 private:
  void look(Stores& /*stores*/) override {
    most_open_ = open_files_allowed(job_.resources, processes_);
    agree(processes_, [&] {
      check_whole_lines();
      tables_ = find_text_tables(source_, job_.source.path);
      report_.source_cards = source_.mesh.size();
      for (const TextTable& table : tables_) {
        check_same(table);
        target_.check_sources(table.files);
        report_.source_files += table.files.size();
        report_.bytes_to_read += std::accumulate(table.bytes.begin(), table.bytes.end(), std::uint64_t{0});
      }
    });
    counters_.bytes_total = report_.bytes_to_read / report_.processes;
  }

  void check_whole_lines() const {
    const auto refuse = [](const char* object, const char* remedy) {
      throw Error(Kind::usage, object,
                  {"the tables are Paddle's text on both sides", "expected a job that moves whole lines", remedy});
    };
    if (!job_.names.only.empty() || !job_.names.drop.empty())
      refuse("--only or --drop", "leave out of both layouts the tables that you do not want");
    if (job_.text_digits) refuse("--digits", "numbers stay as they are: leave it out");
  }

  /// The target has a table of this name, whose lines have the same fields.
  void check_same(const TextTable& table) const {
    const auto& targets = target_.layout().tables;
    const auto found =
        std::find_if(targets.begin(), targets.end(), [&](const auto& each) { return each.name.text() == table.name; });
    if (found == targets.end() || targets.size() != tables_.size())
      throw Error(Kind::layout, "table '" + table.name + "'",
                  {target_.layout().origin + " has " + std::to_string(targets.size()) + " tables, " +
                       (found == targets.end() ? "and none of this name" : "this one among them"),
                   "expected the " + std::to_string(tables_.size()) + " of " + source_.origin,
                   "give both layouts the same tables"});
    const Accessor& from = source_.tables[table.entry].text->accessor;
    const Accessor& to = found->text->accessor;
    if (std::tie(from.kind, from.embedx_dim, from.embed_rule, from.embedx_rule) !=
        std::tie(to.kind, to.embedx_dim, to.embed_rule, to.embedx_rule))
      throw Error(Kind::layout, "table '" + table.name + "'",
                  {target_.layout().origin + " has another \"accessor\" than " + source_.origin,
                   "expected the same: lines stay as they are", "give the target's layout the source's accessor"});
  }

  std::vector<MovedShard> write(const KeyedTable& table) override {
    const auto source =
        std::find_if(tables_.begin(), tables_.end(), [&](const auto& each) { return each.name == table.name.text(); });
    const std::uint64_t shards = table.text->shards;
    const LineMove move{*source, Regrouping(source->shards(), shards), target_.files(table), shards};
    const std::vector<std::uint64_t> groups = share(move.groups.groups());
    std::vector<std::vector<MovedShard>> by_group(groups.size());
    agree(processes_, [&] {
      const std::uint64_t together = shards / move.groups.groups();
      const LineBuffers buffers =
          line_buffers(job_.resources.memory_bytes, threads(), together, table.text->is_gzip, most_open_);
      report_.staging_bytes =
          std::max(report_.staging_bytes,
                   buffers.threads * (2 * buffers.piece_bytes +
                                      together * TextOutput::memory_bytes(buffers.buffer_bytes, table.text->is_gzip)));
      for_each_in_parallel(buffers.threads, groups.size(), [&](std::uint64_t n) {
        by_group[n] = move_lines(move, groups[n], buffers, job_.output.fsync, counters_);
      });
    });
    std::vector<MovedShard> moved;
    for (const auto& group : by_group) moved.insert(moved.end(), group.begin(), group.end());
    return moved;
  }

  const Layout& source_;
  std::size_t most_open_ = 0;
  std::vector<TextTable> tables_;
};

/// Datasets to text.
class PrintJob final : public TextJob {
 public:
  using TextJob::TextJob;

 private:
  void look(Stores& stores) override {
    checkpoint_.emplace(Checkpoint::open(job_.source, stores.reading(), processes_));
    std::vector<StoredTable> tables;
    agree(processes_, [&] {
      if (!checkpoint_->is_shared())
        throw Error(Kind::usage, job_.source.path.string(),
                    {"not every process sees the same source files", "expected a file system that all share", ""});
      const Resolved source = resolve(*checkpoint_);
      const Selection selection = select(job_.names, source.placement);
      const std::set<ParameterId> taken(selection.source_of.begin(), selection.source_of.end());
      tables = stored_tables(source.placement, [&](ParameterId parameter) { return taken.contains(parameter); });
      target_.check_sources(
          paths_read(*checkpoint_, static_cast<std::uint32_t>(processes_.rank()), std::uint32_t(report_.processes)));
      const Layout& from = checkpoint_->layout();
      for (const KeyedTable& table : target_.layout().tables)
        prints_.push_back(row_print(tables, from, table, job_.text_digits.value_or(paddle_digits)));
      check_all_printed(selection);
      report_.source_cards = source.placement.mesh().size();
      report_.source_files = checkpoint_->files().size() - checkpoint_->missing().size();
    });
    reader_.emplace(*checkpoint_, stores.reading(), open_files_allowed(job_.resources, processes_));
    for (RowPrint& print : prints_) {
      add(print.table);
      for (auto& [dims, tail] : print.tails) add(tail);
    }
    counters_.bytes_total = report_.bytes_to_read / report_.processes;
  }

  void add(StoredTable& table) {
    reader_->read_offsets(table, processes_);
    report_.bytes_to_read += table.total_rows() * table.row_bytes();
  }

  /// Text has no room for anything else.
  void check_all_printed(const Selection& selection) const {
    std::set<std::string> printed;
    const auto take = [&](const StoredTable& table) {
      for (const TablePart& part : table.parts) printed.insert(part.name);
      if (table.shards) printed.insert(table.shards->part.name);
    };
    for (const RowPrint& print : prints_) {
      take(print.table);
      for (const auto& [dims, tail] : print.tails) take(tail);
    }
    for (const Tensor& tensor : selection.tensors)
      if (!printed.contains(tensor.name))
        throw Error(Kind::usage, "parameter " + tensor.name,
                    {"it is in no table of " + target_.layout().origin, "expected what Paddle's text has room for",
                     "leave it out (--drop), and bring it where it is wanted by a job of its own"});
  }

  std::vector<MovedShard> write(const KeyedTable& table) override {
    const auto number = static_cast<std::size_t>(&table - target_.layout().tables.data());
    RowPrint& print = prints_[number];
    print.targets = target_.files(table);
    const std::vector<std::uint64_t> shards = share(print.shards);
    std::vector<MovedShard> printed(shards.size());
    agree(processes_, [&] {
      const std::uint64_t memory = job_.resources.memory_bytes / threads();
      for_each_in_parallel(threads(), shards.size(), [&](std::uint64_t n) {
        printed[n] = print_shard(print, shards[n], *reader_, memory, job_.output.fsync, counters_);
      });
    });
    return printed;
  }

  void check_sources(Stores& stores) override {
    for (const FileNumber file : checkpoint_->own_files(static_cast<std::uint32_t>(processes_.rank()),
                                                        static_cast<std::uint32_t>(report_.processes)))
      checkpoint_->check_unchanged(stores.reading(), file);
  }

  std::optional<Checkpoint> checkpoint_;
  std::optional<TableReader> reader_;
  std::vector<RowPrint> prints_;  // of the target's tables
};

}  // namespace

std::optional<Report> reshard_text(const ReshardJob& job, Stores& stores, Communicator& processes, Counters& counters) {
  std::optional<Error> damaged;
  std::optional<Layout> source = job.source.layout;
  if (!source) source = manifest_layout(job.source.path, damaged, processes);
  std::optional<Layout> target;
  agree(processes, [&] {
    const bool is_from_text = source && has_paddle_text(*source);
    if (job.target.layout && has_paddle_text(*job.target.layout)) target = job.target.layout;
    if (is_from_text && !job.target.layout && !job.target.file_bytes) target = target_layout(job.target, *source);
    if (!target && job.text_digits)
      throw Error(
          Kind::usage, "--digits",
          {"the output is not Paddle's text", "expected tables of \"format\": \"paddle-text\"", "leave it out"});
  });
  if (!target) return std::nullopt;
  if (source && has_paddle_text(*source)) return LineJob(job, *source, *target, processes, counters).perform(stores);
  return PrintJob(job, *target, processes, counters).perform(stores);
}

}  // namespace ckpt
