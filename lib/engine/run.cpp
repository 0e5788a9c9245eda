#include <algorithm>
#include <chrono>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "engine/checkpoint.hpp"
#include "engine/file_workload.hpp"
#include "engine/job.hpp"
#include "engine/manifest.hpp"
#include "engine/memory_shares.hpp"
#include "engine/output.hpp"
#include "engine/output_format.hpp"
#include "engine/parallel.hpp"
#include "engine/replicas.hpp"
#include "engine/resume.hpp"
#include "engine/selection.hpp"
#include "engine/source_reader.hpp"
#include "engine/summary.hpp"
#include "engine/target_files.hpp"
#include "engine/target_names.hpp"
#include "exchange/exchange.hpp"
#include "layout/resolve.hpp"

namespace ckpt {

namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// One run, step by step. Everything before `write` only looks.
class Run {
 public:
  Run(const Job& job, Communicator& processes, Counters& counters)
      : job_(job), processes_(processes), counters_(counters) {
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job, processes);
  }

  Report perform() {
    std::unique_ptr<Output> output;
    agree(processes_, [&] { output = std::make_unique<Output>(job_); });
    try {
      make(*output);
    } catch (Error& error) {
      output->fail(error);
      throw;
    }
    return finish();
  }

 private:
  void make(Output& output) {
    std::size_t most_open = 0;
    agree(processes_, [&] { most_open = files_in_cache(static_cast<unsigned>(report_.threads)); });
    Checkpoint checkpoint = Checkpoint::open(job_.source, job_.source_layout, stores_.reading(), processes_);
    time("catalog");

    counters_.phase = Phase::plan;
    std::optional<Resolved> source;
    std::optional<Resolved> target;
    Selection selection;
    agree(processes_, [&] {
      const Wishes wishes(job_);
      source = resolve_source(checkpoint.layout(), checkpoint.holdings(),
                              [&](const std::string& name) { return wishes.is_kept(name); });
      selection = select(job_, source->placement);
      const Layout layout = target_layout(job_, checkpoint.layout());
      const Format& format = output_format(job_, layout);
      store_ = &stores_.named(format.name);
      target = resolve_target(with_ending(layout, format), selection.tensors);
    });
    check_places(output, checkpoint, target->placement.layout());
    for (const std::string& warning : source->warnings) spdlog::warn(warning);
    // Rules of parameters that are left out match nothing, and the source's own rules have been warned of already.
    if (job_.target.layout && job_.only.empty() && job_.drop.empty())
      for (const std::string& warning : target->warnings) spdlog::warn(warning);

    const ExchangeKind kind = choose_exchange(job_, checkpoint.is_shared(), processes_);
    const bool is_direct = kind == ExchangeKind::direct;
    const Readers readers(source->placement, is_direct ? Owners{} : checkpoint.owners(process_count()),
                          job_.replicas == ReplicaCheck::full);
    const Planner planner(source->placement, target->placement, selection.source_of, readers);
    const auto writers = assign_writers(target->placement, process_count());
    const std::vector<Position> cards = cards_of(writers);
    agree(processes_, [&] {
      check_target_names(checkpoint, planner, cards, *store_);
      if (processes_.rank() == 0) check_manifest_size(target->placement, job_.target.single_file, is_verified());
      divide_memory(checkpoint, planner);
    });
    const auto exchange = make_exchange(kind, job_, shares_.rest, static_cast<unsigned>(report_.threads), processes_);
    describe(checkpoint, source->placement, target->placement, *exchange);
    SourceReader reader(checkpoint, source->placement, stores_.reading(), shares_.windows, most_open);
    TargetFiles files(checkpoint, planner, *store_, output, cards, job_.target.single_file, is_verified(), most_open);
    agree(processes_, [&] { files.check_format(); });
    if (job_.dry_run) {
      agree(processes_, [&] { summarise(planner, readers, writers, process_count(), report_); });
      return time("plan");
    }
    time("plan");

    counters_.phase = Phase::replicas;
    check_replicas(checkpoint, source->placement, reader,
                   checkpoint.is_shared() ? Owners{} : checkpoint.owners(process_count()), job_,
                   static_cast<unsigned>(report_.threads), processes_);
    time("replicas");

    ContentSums sums(target->placement);
    write(checkpoint, planner, readers, reader, files, *exchange, output, cards, sums);
    if (job_.verify == Verify::reread) reread(target->placement, files, exchange->chunk_bytes(), sums);
    publish(checkpoint, planner.target(), files, output, sums);
    warn_of_repeats(job_, stores_.reading().decoding(), processes_);
  }

  std::vector<Position> cards_of(const std::vector<std::uint32_t>& writers) const {
    std::vector<Position> cards;
    for (Position card = 0; card < writers.size(); ++card)
      if (writers[card] == process()) cards.push_back(card);
    return cards;
  }

  /// Half of the memory is for the source, half is staging, unless the source has large chunks.
  void divide_memory(const Checkpoint& checkpoint, const Planner& planner) {
    std::vector<bool> is_read(planner.source().arrays().size(), false);
    for (ParameterId p = 0; p < planner.target().tensors().size(); ++p)
      is_read[planner.source().array_of(planner.source_of(p))] = true;
    shares_ = share_memory(job_.memory_bytes, 2,
                           largest_chunk(checkpoint, planner.source(), [&](ArrayId array) { return is_read[array]; }));
    stores_.reading().set_decoding_memory(shares_.chunks);
  }

  /// Nothing that is read, and nothing that is not these programs', is in the way of what is to be written.
  void check_places(Output& output, const Checkpoint& source, const Layout& target) {
    agree(processes_, [&] {
      std::vector<std::filesystem::path> files;
      for (const Position card : source.own_cards(process(), process_count())) files.push_back(source.file_path(card));
      if (std::filesystem::exists(job_.source / manifest_name)) files.push_back(job_.source / manifest_name);
      output.check_sources(files);
      if (processes_.rank() == 0) output.plan(target, *store_);
    });
  }

  std::uint32_t process() const { return static_cast<std::uint32_t>(processes_.rank()); }
  std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes_.size()); }
  bool is_verified() const { return job_.verify != Verify::none; }
  void time(const char* phase) { report_.seconds[phase] += watch_.lap(); }

  void describe(const Checkpoint& checkpoint, const Placement& source, const Placement& target,
                const Exchange& exchange) {
    report_.exchange = exchange.name();
    report_.source_cards = source.mesh().size();
    report_.target_cards = target.mesh().size();
    report_.source_files = checkpoint.files().size();
    report_.target_files = target.mesh().size();
    report_.parameters = target.tensors().size();
    for (const Tensor& tensor : target.tensors()) report_.tensor_bytes += tensor.bytes();
    report_.staging_bytes = exchange.staging_bytes() + shares_.windows + shares_.chunks;
    report_.source_rules = rule_use(source);
    report_.target_rules = rule_use(target);
  }

  /// Makes the place that is written to. True where an earlier run of this job has left one to go on with.
  bool begin(Output& output, const Checkpoint& source, const Planner& planner) {
    bool go_on = false;
    std::string token;
    agree(processes_, [&] {
      if (processes_.rank() != 0) return;
      output.claim();
      token = output.token();
      const std::string description = describe_job(job_, source, planner);
      const auto earlier = output.earlier_job();
      if (earlier) check_same_job(*earlier, description, output.partial().string());
      go_on = earlier && is_verified();
      if (job_.resume && !go_on) spdlog::warn("there is nothing that --resume could go on with: all is written anew");
      output.begin(description, go_on);
    });
    token = processes_.broadcast(token, 0);
    agree(processes_, [&] {
      if (processes_.rank() != 0) output.join(token);
    });
    return processes_.maximum(go_on ? 1 : 0) != 0;
  }

  Finished check_earlier(const Placement& target, const Output& output, TargetFiles& files, ContentSums& sums) {
    counters_.phase = Phase::resume;
    Finished finished;
    std::uint64_t bytes = 0;
    agree(processes_, [&] {
      finished = check_finished(read_journal(output.journal()), target, files, static_cast<unsigned>(report_.threads),
                                sums, bytes);
    });
    report_.bytes_resumed = processes_.sum(bytes);
    resumed_ = bytes;
    time("resume");
    return finished;
  }

  void write(const Checkpoint& source, const Planner& planner, const Readers& readers, SourceReader& reader,
             TargetFiles& files, Exchange& exchange, Output& output, const std::vector<Position>& cards,
             ContentSums& sums) {
    counters_.phase = Phase::metadata;
    const bool is_resumed = begin(output, source, planner);
    agree(processes_, [&] {
      files.create(is_resumed, static_cast<unsigned>(report_.threads));
      if (is_verified()) files.add_the_rest(sums);
    });
    time("metadata");
    ChunkSequence chunks(planner.target(), cards, exchange.chunk_bytes(), shares_.order());
    if (is_resumed) chunks.skip(check_earlier(planner.target(), output, files, sums));
    std::optional<Journal> journal;
    agree(processes_, [&] {
      output.check_held();
      if (is_verified()) journal.emplace(output.journal(), processes_.rank());
    });

    counters_.phase = Phase::move;
    std::uint64_t total = 0;
    for (ArrayId array = 0; array < planner.target().arrays().size(); ++array)
      for (const Position card : cards)
        if (planner.target().holds(card, array) && !planner.target().arrays()[array].verbatim)
          total += volume(planner.target().stored_shape(array, card)) * planner.target().arrays()[array].dtype.size;
    total -= resumed_;
    counters_.bytes_total = total;
    FileWorkload work(planner, readers, reader, files, std::move(chunks), process(), counters_,
                      is_verified() ? &sums : nullptr, journal ? &*journal : nullptr);
    output.fill();
    exchange.run(work);
    report_.bytes_to_write = processes_.sum(total);
    const double moving = watch_.lap();
    const auto threads = double(report_.threads);
    report_.seconds["move"] = moving;
    report_.seconds["read"] = work.read_seconds() / threads;
    report_.seconds["write"] = work.write_seconds() / threads;
    report_.seconds["exchange"] = std::max(0.0, moving - report_.seconds["read"] - report_.seconds["write"]);
  }

  /// The output as the storage gives it back must be what was written.
  void reread(const Placement& target, TargetFiles& files, std::uint64_t chunk_bytes, const ContentSums& written) {
    counters_.phase = Phase::reread;
    ContentSums again(target);
    agree(processes_, [&] { files.sum_again(chunk_bytes, static_cast<unsigned>(report_.threads), again); });
    const auto before = written.of_parameters(processes_);
    const auto after = again.of_parameters(processes_);
    agree(processes_, [&] {
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
                   "fingerprint " + other->fingerprint, "nothing is published; write to another disk"});
    });
    time("reread");
  }

  void publish(const Checkpoint& checkpoint, const Placement& target, TargetFiles& files, Output& output,
               const ContentSums& sums) {
    counters_.phase = Phase::publish;
    write_manifest(target, files, output, sums);
    agree(processes_, [&] {
      if (job_.fsync) files.sync();
      for (const Position card : checkpoint.own_cards(process(), process_count()))
        checkpoint.check_unchanged(stores_.reading(), card);
    });
    agree(processes_, [&] {
      check_interrupt();  // for the last time: nobody may fail beside the one that publishes
      if (processes_.rank() != 0) output.leave();
    });
    agree(processes_, [&] {
      if (processes_.rank() == 0) output.publish();
    });
    time("publish");
  }

  void write_manifest(const Placement& target, TargetFiles& files, const Output& output, const ContentSums& sums) {
    std::vector<Fingerprint> fingerprints;
    if (is_verified()) fingerprints = sums.of_parameters(processes_);
    const auto list = gather_list(files.list(is_verified() ? &sums : nullptr), processes_);
    agree(processes_, [&] {
      output.check_held();
      if (processes_.rank() != 0) return;
      if (job_.target.single_file) {
        files.set_manifest(manifest(target, list, fingerprints, files.manifest_room()));
        return;
      }
      const std::string text = manifest(target, list, fingerprints);
      const PosixFile file = PosixFile::create(output.file(manifest_name));
      file.write(0, std::as_bytes(std::span(text.data(), text.size())));
      if (job_.fsync) file.sync();
    });
  }

  Report finish() {
    counters_.phase = Phase::done;
    report_.bytes_read = processes_.sum(counters_.bytes_read);
    report_.bytes_exchanged = processes_.sum(counters_.bytes_exchanged);
    report_.bytes_written = processes_.sum(counters_.bytes_written);
    double total = 0;
    for (const auto& [phase, seconds] : report_.seconds)
      if (phase != "read" && phase != "write" && phase != "exchange") total += seconds;
    report_.seconds["total"] = total;
    for (auto& [phase, seconds] : report_.seconds)  // the slowest process's
      seconds = double(processes_.maximum(static_cast<std::uint64_t>(seconds * 1e9))) * 1e-9;
    return report_;
  }

  const Job& job_;
  Communicator& processes_;
  Counters& counters_;
  Stores stores_;
  Store* store_ = nullptr;  // of the output
  Report report_;
  Stopwatch watch_;
  MemoryShares shares_;
  std::uint64_t resumed_ = 0;  // bytes of this process that need not be written
};

}  // namespace

Report run(const Job& job, Communicator& processes, Counters& counters) {
  return Run(job, processes, counters).perform();
}

}  // namespace ckpt
