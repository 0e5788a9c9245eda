#include "jobs/reshard.hpp"

#include <algorithm>
#include <utility>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "checkpoint/manifest.hpp"
#include "frameworks/tree_fit.hpp"
#include "jobs/memory_shares.hpp"
#include "jobs/misfit.hpp"
#include "jobs/reread.hpp"
#include "jobs/reshard_plan.hpp"
#include "jobs/reshard_text.hpp"
#include "jobs/stopwatch.hpp"
#include "jobs/summary.hpp"
#include "jobs/table_plan.hpp"
#include "layout/model_files.hpp"
#include "layout/paddle_tables.hpp"
#include "output/file_workload.hpp"
#include "output/files_beside.hpp"
#include "output/job_description.hpp"
#include "output/resume.hpp"
#include "output/target_names.hpp"
#include "output/views.hpp"
#include "processes/gather_all.hpp"
#include "proof/check_source.hpp"

namespace ckpt {

namespace {

/// One run, step by step. Everything before `write` only looks.
class Run {
 public:
  /// `text`: what is written beside the job's files; null: nothing. It has been looked at.
  Run(const ReshardJob& job, TextTables* text, Stores& stores, Communicator& processes, Counters& counters)
      : job_(job), text_(text), stores_(stores), processes_(processes), counters_(counters) {
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job.resources, processes);
  }

  Report perform() {
    agree(processes_, [&] {
      if (job_.dry_run && (job_.output.path.empty() || job_.output.is_pipe)) return;
      if (job_.output.is_pipe) {
        if (processes_.rank() == 0) pipe_.emplace(PosixStream(job_.output.name(), job_.output.descriptor));
        return;
      }
      output_.emplace(job_.output);
      output_->check_source(job_.source.path);
      for (const CheckpointPlace& delta : job_.deltas) output_->check_source(delta.path);
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
  void make() {
    most_open_ = open_files_allowed(job_.resources, processes_);
    counters_.phase = Phase::catalog;
    sides_.emplace(resolve_sides(job_, stores_, processes_));
    time("catalog");
    counters_.phase = Phase::plan;
    if (output_) check_places();
    warn_of_layouts(job_, *sides_);

    const bool is_shared = checkpoint().is_shared();
    const ExchangeKind kind =
        choose_exchange(wanted_exchange(job_, has_tables(), is_shared, processes_.size()), is_shared, processes_);
    plan_.emplace(*sides_, kind, job_, processes_);
    agree(processes_, [&] {
      check_target_names(checkpoint(), plan_->planner, plan_->shares.owned_by(process()), *sides_->store);
      if (processes_.rank() == 0) check_manifest_size(target(), job_.output.is_single_file, is_verified());
      shares_ = divide_memory(job_.resources.memory_bytes, *sides_, plan_->planner);
      stores_.reading().set_decoding_memory(shares_.chunks);
      if (job_.is_view)
        views_.emplace(checkpoint(), plan_->planner, *sides_->store, job_.output.path, job_.output.is_single_file);
    });
    exchange_ = make_exchange(kind, job_.resources, shares_.rest, threads(), processes_);
    report_.exchange = exchange_->name();
    report_.staging_bytes = exchange_->staging_bytes() + shares_.windows + shares_.chunks;
    describe(*sides_, report_);
    if (text_ != nullptr) report_.target_files = file_names(target().layout()).size();
    reader_.emplace(checkpoint(), source(), stores_.reading(), shares_.windows, most_open_);
    if (job_.dry_run) return look_ahead();
    files_.emplace(checkpoint(), plan_->planner, *sides_->store, target_place(), plan_->shares, process(), most_open_);
    agree(processes_, [&] { files_->check_format(); });
    // What transformers ask of a model's files.
    if (job_.target.file_bytes && sides_->store->name() == "safetensors")
      files_->add_attribute({"format", text_value("pt")});
    if (job_.has_checksums) files_->add_checksum();
    time("plan");

    counters_.phase = Phase::replicas;
    check_copies();
    time("replicas");

    sums_.emplace(target());
    write();
    if (job_.verify == Verify::reread) reread();
    publish();
    warn_of_repeats(job_.resources.memory_bytes, stores_.reading().decoding(), processes_);
  }

  const Checkpoint& checkpoint() const { return sides_->checkpoint; }
  const Placement& source() const { return sides_->source.placement; }
  const Placement& target() const { return sides_->target.placement; }
  unsigned threads() const { return static_cast<unsigned>(report_.threads); }
  std::uint32_t process() const { return static_cast<std::uint32_t>(processes_.rank()); }
  std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes_.size()); }
  bool has_tables() const { return !sides_->tables.moves.empty(); }
  bool is_verified() const { return job_.verify != Verify::none && !job_.is_view; }
  void time(const char* phase) { report_.seconds[phase] += watch_.lap(); }

  /// Whether a source that is not in the system's memory is read past it. Not where several processes of a node read
  /// the same files: what one has read there, the others find in that memory.
  bool reads_past_memory() const {
    const bool is_shared_here = plan_->readers.is_shared() && processes_.local_size() > 1;
    return exchange_->reads_ahead() && !job_.is_view && !is_shared_here;
  }
  /// What the exchange leaves of its share.
  std::uint64_t spare_memory() const { return shares_.rest - std::min(shares_.rest, exchange_->staging_bytes()); }
  std::vector<FileNumber> files_read() const { return files_read_by(process(), checkpoint(), plan_->readers); }

  /// What the manifest says at the end.
  FingerprintPlace fingerprint_place() const { return views_ ? FingerprintPlace::views : FingerprintPlace::manifest; }

  TargetPlace target_place() {
    TargetPlace place{output_ ? &*output_ : nullptr, pipe_ ? &*pipe_ : nullptr, job_.output.is_single_file};
    place.keeps_trees = job_.keeps_trees;
    if (is_verified())
      place.fingerprints = job_.output.is_pipe && !sides_->store->ends_with_manifest() ? FingerprintPlace::report
                                                                                       : FingerprintPlace::manifest;
    if (views_) place.fingerprints = FingerprintPlace::views;
    place.views = views_ ? &*views_ : nullptr;
    place.tables = manifest_tables(sides_->tables, {}, is_verified());
    return place;
  }

  /// The end of a dry run.
  void look_ahead() {
    agree(processes_, [&] {
      ckpt::look_ahead(*sides_, *plan_, job_.keeps_trees, views_ ? &*views_ : nullptr, report_);
      if (reads_past_memory()) report_.staging_bytes += reader_->past_memory(spare_memory(), files_read());
    });
    if (text_ != nullptr) {
      text_->tell(report_);
      text_->write(report_);
    }
    time("plan");
  }

  /// Nothing that is read, and nothing that is not these programs', is in the way of what is to be written.
  void check_places() {
    agree(processes_, [&] {
      for (const Checkpoint* each : sides_->checkpoints())
        output_->check_sources(paths_read(*each, process(), process_count()));
      if (text_ != nullptr) output_->check_sources(text_->paths_read());
      auto beside = names_beside(checkpoint(), target().layout(), *sides_->store);
      if (!sides_->index_name.empty()) beside.push_back(sides_->index_name);
      if (processes_.rank() == 0) output_->plan(target().layout(), beside, *sides_->store);
    });
  }

  void check_copies() {
    const Owners owners = checkpoint().is_shared() ? Owners{} : checkpoint().owners(process_count());
    explain_misfit(
        misfit_of(checkpoint(), stores_.reading(), job_.names, sides_->expected, job_.casts), processes_, [&] {
          check_source({{checkpoint(), source(), *reader_, owners, moved_by_regions(*sides_), job_.replicas, threads()},
                        plan_->readers,
                        stores_.reading(),
                        equal_pairs(*sides_),
                        most_open_},
                       *exchange_, processes_);
        });
  }

  /// Makes the place that is written to. True where an earlier run of this job has left one to go on with.
  bool begin() {
    bool go_on = false;
    std::string token;
    agree(processes_, [&] {
      if (processes_.rank() != 0) return;
      output_->claim();
      token = output_->token();
      const std::string description = describe_job(sides_->checkpoints(), plan_->planner, job_.output.is_single_file,
                                                   is_verified(), manifest_tables(sides_->tables, {}, false));
      go_on = begin_job(*output_, job_.output.resume, text_ != nullptr ? text_->describe(description) : description,
                        is_verified());
    });
    token = processes_.broadcast(token, 0);
    agree(processes_, [&] {
      if (processes_.rank() != 0) output_->join(token);
    });
    return processes_.maximum(go_on ? 1 : 0) != 0;
  }

  Finished check_earlier() {
    counters_.phase = Phase::resume;
    std::vector<JournalRecord> records;
    agree(processes_, [&] { records = read_journal(output_->journal(), process(), process_count()); });
    records = own_records(records, target(), plan_->shares, processes_);
    Finished finished;
    std::uint64_t bytes = 0;
    agree(processes_, [&] { finished = check_finished(records, target(), *files_, threads(), *sums_, bytes); });
    report_.bytes_resumed = processes_.sum(bytes);
    resumed_ = bytes;
    time("resume");
    return finished;
  }

  void write() {
    counters_.phase = Phase::metadata;
    const bool is_resumed = output_ && begin();
    files_->fetch_trees(stores_.reading(), processes_);
    agree(processes_, [&] {
      if (processes_.rank() == 0) beside_ = files_->files_beside(stores_.reading());
      files_->create(is_resumed, threads(), stores_.reading());
      if (is_verified()) files_->add_the_rest(*sums_);
    });
    files_->tell_rooms(processes_);
    time("metadata");
    if (views_) return;  // all is there
    ChunkSequence chunks = files_->chunks(exchange_->chunk_bytes(), shares_.order());
    chunks.take_cells(plan_->casts.cells());
    if (job_.output.is_pipe) chunks.take_order(files_->order());
    const Finished finished = is_resumed ? check_earlier() : Finished();
    chunks.skip(without_tables(finished, target(), sides_->tables));
    std::optional<Journal> journal;
    agree(processes_, [&] {
      if (!output_) return;
      output_->check_held();
      if (is_verified()) journal.emplace(output_->journal(), processes_.rank());
    });

    counters_.phase = Phase::move;
    const std::uint64_t total = bytes_written_by(process(), plan_->shares, target()) - resumed_;
    counters_.bytes_total = total;
    FileWorkload work({plan_->planner, plan_->casts, plan_->readers, *reader_, *files_, process(), counters_,
                       is_verified() ? &*sums_ : nullptr, journal ? &*journal : nullptr},
                      std::move(chunks));
    if (output_) output_->fill();
    agree(processes_, [&] {
      if (reads_past_memory()) report_.staging_bytes += reader_->read_past_memory(spare_memory(), files_read());
    });
    exchange_->run(work);
    reader_->read_as_usual();
    move_tables(finished, journal ? &*journal : nullptr);
    report_.bytes_to_write = processes_.sum(total);
    if (text_ != nullptr) {
      text_->tell(report_);
      text_->begin(*output_, journal ? &*journal : nullptr, is_resumed);
      text_->write(report_);
    }
    if (is_verified()) sums_->give_to_owners([&](FileNumber file) { return files_->owner(file); }, processes_);
    report_.overflows = tell_overflows(work.overflows(), target(), report_.bytes_resumed != 0, processes_);
    const double moving = watch_.lap();
    report_.seconds["move"] = moving;
    report_.seconds["read"] = work.read_seconds() / threads();
    report_.seconds["write"] = work.write_seconds() / threads();
    report_.seconds["exchange"] = std::max(0.0, moving - report_.seconds["read"] - report_.seconds["write"]);
  }

  void move_tables(const Finished& finished, Journal* journal) {
    const TablePlan& tables = sides_->tables;
    if (tables.moves.empty() && tables.offsets.empty()) return;
    TableReaders rows(sides_->checkpoints(), stores_.reading(), most_open_);
    const ShuffleMeans means{rows.all(), *files_,   plan_->shares,
                             counters_,  threads(), is_verified() ? &*sums_ : nullptr,
                             journal,    finished,  job_.resources.memory_bytes / 8};
    write_offsets(tables.offsets, means, processes_);
    TableShuffle shuffle(tables.moves, means, processes_);
    shuffle.run();
    table_sums_ = shuffle.sums();
  }

  void reread() {
    counters_.phase = Phase::reread;
    check_reread(target(), *files_, *sums_, exchange_->chunk_bytes(), threads(), processes_);
    if (text_ != nullptr) text_->reread();
    time("reread");
  }

  void publish() {
    counters_.phase = Phase::publish;
    write_manifest();
    if (job_.has_checksums) {
      if (process_count() > 1) agree(processes_, [&] { files_->sync(); });  // what other nodes have written is seen
      agree(processes_, [&] { files_->finish(threads()); });
    }
    agree(processes_, [&] {
      if (output_ && job_.output.fsync) files_->sync();
      for (const Checkpoint* each : sides_->checkpoints())
        for (const FileNumber file : each->own_files(process(), process_count()))
          each->check_unchanged(stores_.reading(), file);
      if (text_ != nullptr) text_->check_sources(stores_);
    });
    agree(processes_, [&] {
      check_interrupt();  // for the last time: nobody may fail beside the one that publishes
      if (output_ && processes_.rank() != 0) output_->leave();
    });
    agree(processes_, [&] {
      if (processes_.rank() == 0) output_ ? output_->publish() : pipe_->finish(job_.output.fsync);
    });
    time("publish");
  }

  void write_manifest() {
    std::vector<Fingerprint> fingerprints;
    if (is_verified()) fingerprints = sums_->of_parameters(processes_);
    auto list = gather_list(files_->list(is_verified() ? &*sums_ : nullptr), processes_);
    auto tables = manifest_tables(sides_->tables, table_sums_, is_verified());
    if (text_ != nullptr) add_text(list, tables);
    const bool has_index = !sides_->store->index_name().empty();
    const auto indexed = has_index ? gather_at_first(files_->indexed(), processes_) : std::vector<IndexedFile>{};
    agree(processes_, [&] {
      if (output_) output_->check_held();
      if (processes_.rank() != 0) return;
      if (job_.output.is_single_file) {
        const std::string text =
            manifest(target(), list, fingerprints, files_->manifest_room(), fingerprint_place(), tables);
        if (output_ || sides_->store->ends_with_manifest()) files_->set_manifest(text);
        if (pipe_) report_.manifest = text;
      } else {
        for (const FileBeside& file : beside_) output_->write_text(file.name, file.bytes);
        if (const auto file = file_beside(target().layout())) output_->write_text(file->name, file->bytes);
        output_->write_text(manifest_name, manifest(target(), list, fingerprints, {}, fingerprint_place(), tables));
        if (!sides_->index_name.empty())  // last: without it, a directory is no checkpoint
          output_->write_text(sides_->index_name,
                              has_index ? sides_->store->index_text(indexed) : model_index(target()));
      }
    });
  }

  void add_text(std::vector<ManifestFile>& files, std::vector<ManifestTable>& tables) const {
    if (processes_.rank() == 0)
      for (ManifestFile& file : text_->manifest_files()) files.push_back(std::move(file));
    for (ManifestTable& table : text_->manifest_tables()) tables.push_back(std::move(table));
    std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  }

  const ReshardJob& job_;
  TextTables* text_;
  Stores& stores_;
  Communicator& processes_;
  Counters& counters_;
  Report report_;
  Stopwatch watch_;
  MemoryShares shares_;
  std::size_t most_open_ = 0;  // files, in each cache
  std::uint64_t resumed_ = 0;  // bytes of this process that need not be written
  // In the order in which they come to be; each uses those before it.
  std::optional<Output> output_;  // none where a dry run is told of none, or there is a pipe
  std::optional<Pipe> pipe_;      // on process 0
  std::optional<ReshardSides> sides_;
  std::optional<MovePlan> plan_;
  std::optional<Views> views_;  // where the output is to have no data
  std::unique_ptr<Exchange> exchange_;
  std::optional<SourceReader> reader_;
  std::optional<TargetFiles> files_;
  std::vector<FileBeside> beside_;  // on process 0
  std::optional<ContentSums> sums_;
  TableShuffle::Sums table_sums_;
};

}  // namespace

Report reshard(const ReshardJob& job, Stores& stores, Communicator& processes, Counters& counters) {
  const auto layouts = text_layouts(job, processes);
  if (!layouts) return Run(job, nullptr, stores, processes, counters).perform();
  TextTables text(job, layouts->target, layouts->source ? &*layouts->source : nullptr, processes, counters);
  if (text.is_all()) return write_text(job, text, stores, processes, counters);
  agree(processes, [&] { text.check_possible(); });
  text.look(stores);
  const ReshardJob rest = beside_text(job, text);
  return Run(rest, &text, stores, processes, counters).perform();
}

}  // namespace ckpt
