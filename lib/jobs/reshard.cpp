#include "jobs/reshard.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "checkpoint/content_sums.hpp"
#include "diagnosis/check_source.hpp"
#include "diagnosis/one_step.hpp"
#include "jobs/misfit.hpp"
#include "jobs/output_manifest.hpp"
#include "jobs/reshard_plan.hpp"
#include "jobs/reshard_text.hpp"
#include "jobs/summary.hpp"
#include "jobs/types/memory_shares.hpp"
#include "jobs/types/progress.hpp"
#include "output/file_workload.hpp"
#include "output/files_beside.hpp"
#include "output/job_description.hpp"
#include "output/resume.hpp"
#include "output/target_files.hpp"
#include "output/target_names.hpp"
#include "output/views.hpp"
#include "processes/communicator.hpp"
#include "tables/phase/table_plan.hpp"

namespace ckpt {

namespace {

/// Reads a new checkpoint's files back, in pieces of `piece_bytes`, and compares them with `written`. Collective;
/// throws io, naming file and parameters, if the storage returns anything else.
void check_reread(const Placement& target, TargetFiles& files, const ContentSums& written, std::uint64_t piece_bytes,
                  unsigned threads, Communicator& processes) {
  ContentSums again(target);
  agree(processes, [&] { files.sum_again(piece_bytes, threads, again); });
  again.give_to_owners([&](FileNumber file) { return files.owner(file); }, processes);
  const auto before = written.of_parameters(processes);
  const auto after = again.of_parameters(processes);
  agree(processes, [&] {
    const auto expected = files.list(&written);
    const auto found = files.list(&again);
    const auto [file, other] =
        std::mismatch(found.begin(), found.end(), expected.begin(),
                      [](const auto& a, const auto& b) { return a.fingerprint == b.fingerprint; });
    if (file == found.end()) return;
    std::vector<std::string> parameters;
    for (std::size_t p = 0; p < before.size(); ++p)
      if (before[p] != after[p]) parameters.push_back("'" + target.tensors()[p].name + "'");
    throw Error(Kind::io, file->name,
                {"the storage does not give back what was written" +
                     (parameters.empty() ? "" : ", in parameter " + join(parameters)),
                 "fingerprint " + other->fingerprint, "nothing is published; write to another disk"})
        .in_file(file->name);
  });
}

/// One run, step by step. Everything before the output begins only looks.
class Run {
 public:
  /// `text`: the tables of text that are written beside the job's files. They have been looked at.
  Run(const ReshardJob& job, TextTables& text, JobOutput& output, Stores& stores, Communicator& processes,
      Counters& counters)
      : job_(job), text_(text), output_(output), stores_(stores), processes_(processes), counters_(counters) {
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job.resources, processes);
  }

  Report perform() {
    plan();
    if (job_.dry_run)
      look_ahead();
    else
      make();
    counters_.phase = Phase::done;
    add_up(counters_, processes_, report_);
    return report_;
  }

 private:
  void plan() {
    most_open_ = open_files_allowed(job_.resources, processes_);
    counters_.phase = Phase::catalog;
    sides_.emplace(resolve_sides(job_, text_.opened_source(), stores_, processes_, counters_));
    report_.format = sides_->store->name();
    time("catalog");
    counters_.phase = Phase::plan;
    check_places();
    if (!job_.mixes_steps)
      agree(processes_, [&] {
        for (const Checkpoint* each : sides_->checkpoints()) check_one_step(*each);
      });
    warn_of_layouts(job_, *sides_);

    const bool is_shared = checkpoint().is_shared();
    const bool has_tables = !sides_->tables.moves.empty();
    const ExchangeKind kind =
        choose_exchange(wanted_exchange(job_, has_tables, is_shared, processes_.size()), is_shared, processes_);
    plan_.emplace(*sides_, kind, job_, processes_);
    agree(processes_, [&] {
      check_target_names(checkpoint(), plan_->planner, plan_->shares.owned_by(process()), *sides_->store);
      if (processes_.rank() == 0) check_manifest_size(target(), job_.output.is_single_file, job_.is_verified());
      shares_ = divide_memory(job_.resources.memory_bytes, *sides_, plan_->planner);
      set_decoding_memory(stores_.reading(), shares_.chunks);
      if (job_.is_view)
        views_.emplace(checkpoint(), plan_->planner, *sides_->store, job_.output.path, job_.output.is_single_file);
    });
    exchange_ = make_exchange(kind, job_.resources, shares_.rest, threads(), processes_);
    report_.exchange = exchange_->name();
    report_.staging_bytes = exchange_->staging_bytes() + shares_.windows + shares_.chunks;
    describe(*sides_, report_);
    reader_.emplace(checkpoint(), source(), stores_.reading(), shares_.windows, most_open_);
  }

  void make() {
    files_.emplace(checkpoint(), plan_->planner, *sides_->store, target_place(), plan_->shares, process(), most_open_);
    agree(processes_, [&] { files_->check_format(); });
    const std::optional<Attribute> of_models = sides_->store->traits().model_attribute;
    if (job_.target.file_bytes && of_models) files_->add_attribute(*of_models);
    if (!job_.deltas.empty())
      for (const Attribute& attribute : newest_attributes(sides_->checkpoints())) files_->set_attribute(attribute);
    if (job_.has_checksums) files_->add_checksum();
    time("plan");

    counters_.phase = Phase::replicas;
    check_copies();
    time("replicas");

    sums_.emplace(target());
    const bool is_resumed = output_.begin([&] {
      return text_.describe(describe_job(sides_->checkpoints(), plan_->planner, job_.output.is_single_file,
                                         job_.is_verified(), manifest_tables(sides_->tables, {}, false)));
    });
    create_files(is_resumed);
    if (!job_.is_view) write(is_resumed);
    if (job_.verify == Verify::reread) reread();
    publish();
    warn_of_repeats(job_.resources.memory_bytes, decoding_of(stores_.reading()), processes_);
  }

  const Checkpoint& checkpoint() const { return sides_->checkpoint; }
  const Placement& source() const { return sides_->source.placement; }
  const Placement& target() const { return sides_->target.placement; }
  unsigned threads() const { return static_cast<unsigned>(report_.threads); }
  std::uint32_t process() const { return static_cast<std::uint32_t>(processes_.rank()); }
  std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes_.size()); }
  /// The sums of the written data; null if nothing is to be verified.
  ContentSums* sums() { return job_.is_verified() ? &*sums_ : nullptr; }
  void time(const char* phase) { report_.seconds[phase] += watch_.lap(); }

  /// Whether source data outside the page cache is read with direct I/O. Not if several processes of a node read the
  /// same files: through the page cache, one process finds what another has read.
  bool reads_past_memory() const {
    const bool is_shared_here = plan_->readers.is_shared() && processes_.local_size() > 1;
    return exchange_->reads_ahead() && !job_.is_view && !is_shared_here;
  }
  /// The exchange's share of memory that it does not use.
  std::uint64_t spare_memory() const { return shares_.rest - std::min(shares_.rest, exchange_->staging_bytes()); }
  std::vector<FileNumber> files_read() const { return files_read_by(process(), checkpoint(), plan_->readers); }

  TargetPlace target_place() {
    TargetPlace place{output_.place(), output_.pipe(), job_.output.is_single_file};
    place.keeps_trees = job_.keeps_trees;
    place.dropped = job_.names.drop;
    place.new_name = new_name_of(job_.names);
    if (job_.is_verified())
      place.fingerprints = job_.output.is_pipe && !sides_->store->traits().ends_with_manifest
                               ? FingerprintPlace::report
                               : FingerprintPlace::manifest;
    if (views_) place.fingerprints = FingerprintPlace::views;
    place.views = views_ ? &*views_ : nullptr;
    place.tables = manifest_tables(sides_->tables, {}, job_.is_verified());
    return place;
  }

  /// Ends a dry run.
  void look_ahead() {
    agree(processes_, [&] {
      ckpt::look_ahead(*sides_, *plan_, job_, views_ ? &*views_ : nullptr, report_);
      if (reads_past_memory()) report_.staging_bytes += reader_->past_memory(spare_memory(), files_read());
    });
    // The metadata is in memory now, as it will be in the job; all other memory of the job is staging.
    report_.peak_bytes = processes_.maximum(peak_resident_bytes() + report_.staging_bytes);
    text_.tell(report_);
    text_.write(report_);
    time("plan");
  }

  /// Checks that the output overwrites nothing that is read, and nothing that these programs did not write.
  void check_places() {
    agree(processes_, [&] {
      Output* place = output_.place();
      if (place == nullptr) return;
      for (const Checkpoint* each : sides_->checkpoints())
        place->check_sources(each->paths_read(process(), process_count()));
      place->check_sources(text_.paths_read());
      auto beside = names_beside(checkpoint(), target().layout(), *sides_->store);
      if (!sides_->index_name.empty()) beside.push_back(sides_->index_name);
      if (processes_.rank() == 0) place->plan(target().layout(), beside, *sides_->store);
    });
  }

  void check_copies() {
    const Owners owners = checkpoint().is_shared() ? Owners{} : checkpoint().owners(process_count());
    const ReplicatedFiles replicated{.checkpoint = checkpoint(),
                                     .placement = source(),
                                     .reader = *reader_,
                                     .owners = owners,
                                     .is_taken = moved_by_regions(*sides_),
                                     .extent = job_.replicas,
                                     .threads = threads()};
    explain_misfit(misfit_of(checkpoint(), stores_.reading(), job_.names, sides_->expected, job_.casts), processes_,
                   [&] {
                     check_source({replicated, plan_->readers, stores_.reading(), equal_pairs(*sides_), most_open_},
                                  *exchange_, processes_);
                   });
  }

  Finished check_earlier() {
    counters_.phase = Phase::resume;
    Finished finished = find_finished(output_.place()->journal(), target(), plan_->shares, *files_, threads(), *sums_,
                                      resumed_, processes_);
    report_.bytes_resumed = processes_.sum(resumed_);
    time("resume");
    return finished;
  }

  /// Creates the files with everything but data. If the output only shows another's data, that is all.
  void create_files(bool is_resumed) {
    counters_.phase = Phase::metadata;
    files_->fetch_trees(stores_.reading(), processes_);
    agree(processes_, [&] {
      if (processes_.rank() == 0) beside_ = files_->files_beside(stores_.reading());
      files_->create(is_resumed, threads(), stores_.reading());
      if (job_.is_verified()) files_->add_the_rest(*sums_);
    });
    files_->tell_rooms(processes_);
    time("metadata");
  }

  void write(bool is_resumed) {
    agree(processes_, [&] {
      if (reads_past_memory()) report_.staging_bytes += reader_->read_past_memory(spare_memory(), files_read());
    });
    ChunkSequence chunks = files_->chunks(exchange_->chunk_bytes(), shares_.order());
    chunks.take_cells(plan_->casts.cells());
    if (!reader_->reads_ahead()) files_->cut_where_they_lie(chunks);
    if (job_.output.is_pipe) chunks.take_order(files_->order());
    const Finished finished = is_resumed ? check_earlier() : Finished();
    chunks.skip(without_tables(finished, target(), sides_->tables));
    const auto journal = output_.open_journal();

    counters_.phase = Phase::move;
    const std::uint64_t total = bytes_written_by(process(), plan_->shares, target()) - resumed_;
    counters_.bytes_total = total;
    FileWorkload work(
        {plan_->planner, plan_->casts, plan_->readers, *reader_, *files_, process(), counters_, sums(), journal.get()},
        std::move(chunks));
    if (output_.place() != nullptr) output_.place()->fill();
    exchange_->run(work);
    reader_->read_as_usual();
    move_tables(finished, journal.get());
    report_.bytes_to_write = processes_.sum(total);
    text_.tell(report_);
    if (output_.place() != nullptr) text_.begin(*output_.place(), journal.get(), is_resumed);
    text_.write(report_);
    if (job_.is_verified()) sums_->give_to_owners([&](FileNumber file) { return files_->owner(file); }, processes_);
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
                             counters_,  threads(), sums(),
                             journal,    finished,  received_memory(job_.resources)};
    write_offsets(tables.offsets, means, processes_);
    TableShuffle shuffle(tables.moves, means, processes_);
    shuffle.run();
    table_sums_ = shuffle.sums();
  }

  void reread() {
    counters_.phase = Phase::reread;
    check_reread(target(), *files_, *sums_, exchange_->chunk_bytes(), threads(), processes_);
    text_.reread();
    time("reread");
  }

  void publish() {
    counters_.phase = Phase::publish;
    report_.manifest =
        write_manifest({job_, *sides_, text_, *sums_, table_sums_, beside_}, *files_, output_, processes_);
    if (job_.has_checksums) {
      if (process_count() > 1) agree(processes_, [&] { files_->sync(); });  // makes other nodes' writes visible
      agree(processes_, [&] { files_->finish(threads()); });
    }
    agree(processes_, [&] {
      if (output_.place() != nullptr && job_.output.fsync) files_->sync();
      for (const Checkpoint* each : sides_->checkpoints())
        for (const FileNumber file : each->own_files(process(), process_count()))
          each->check_unchanged(stores_.reading(), file);
      text_.check_sources(stores_);
    });
    output_.publish();
    time("publish");
  }

  const ReshardJob& job_;
  TextTables& text_;
  JobOutput& output_;
  Stores& stores_;
  Communicator& processes_;
  Counters& counters_;
  Report report_;
  Stopwatch watch_;
  MemoryShares shares_;
  std::size_t most_open_ = 0;  // files, in each cache
  std::uint64_t resumed_ = 0;  // bytes of this process that need not be written
  // In the order in which they are made; each uses those before it.
  std::optional<ReshardSides> sides_;
  std::optional<MovePlan> plan_;
  std::optional<Views> views_;  // if the output is to have no data
  std::unique_ptr<Exchange> exchange_;
  std::optional<SourceReader> reader_;
  std::optional<TargetFiles> files_;
  std::vector<FileBeside> beside_;  // on process 0
  std::optional<ContentSums> sums_;
  TableShuffle::Sums table_sums_;
};

}  // namespace

Report reshard(const ReshardJob& job, Stores& stores, Communicator& processes, Counters& counters) {
  TextTables text(job, processes, counters);
  JobOutput output(job, processes);
  return output.made_by([&] {
    if (text.is_all()) return write_text(job, text, output, stores, processes, counters);
    text.look(stores);
    const ReshardJob rest = text.rest_of_job();
    return Run(rest, text, output, stores, processes, counters).perform();
  });
}

}  // namespace ckpt
