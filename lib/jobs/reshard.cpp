#include "jobs/reshard.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/content_sums.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "diagnosis/check_source.hpp"
#include "diagnosis/fused_rules.hpp"
#include "diagnosis/likeness/likeness.hpp"
#include "diagnosis/same_step.hpp"
#include "io/direct_blocks.hpp"
#include "jobs/average.hpp"
#include "jobs/complete_output.hpp"
#include "jobs/conflict_source.hpp"
#include "jobs/name_maps.hpp"
#include "jobs/output_manifest.hpp"
#include "jobs/reshard_plan.hpp"
#include "jobs/reshard_text.hpp"
#include "jobs/summary.hpp"
#include "jobs/types/memory_shares.hpp"
#include "jobs/types/progress.hpp"
#include "output/file_workload.hpp"
#include "output/free_space.hpp"
#include "output/job_description.hpp"
#include "output/resume.hpp"
#include "output/sidecars.hpp"
#include "output/stripes.hpp"
#include "output/target_files.hpp"
#include "output/target_names.hpp"
#include "output/views.hpp"
#include "plan/block_readers.hpp"
#include "processes/communicator.hpp"
#include "tables/phase/table_plan.hpp"
#include "tensor/number.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

namespace {

/// Reads a new checkpoint's files back, in pieces of `piece_bytes`, and compares them with `written`. Collective;
/// throws io, naming file and parameters, if the storage returns anything else.
void check_reread(const Placement& target, TargetFiles& files, const ContentSums& written, std::uint64_t piece_bytes,
                  unsigned threads, Communicator& processes) {
  ContentSums again(target);
  agree(processes, [&] { files.sum_again(piece_bytes, threads, again); });
  again.send_to_owners([&](FileNumber file) { return files.owner(file); }, processes);
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

/// Whether the output is written past the page cache. A job that does not wait for the disk leaves its data there.
bool writes_directly(const OutputPlace& place) {
  if (place.is_pipe || place.path.empty() || place.direct_io == DirectIo::off) return false;
  if (place.direct_io == DirectIo::on) return true;
  return place.fsync && has_fast_direct_writes(existing_directory(place.path));
}

/// The threads of an exchange. One that writes past the page cache waits for the disk. So there are two more on each
/// node by default, if there is memory for their pieces: they keep the processors busy meanwhile, and the disk while
/// all others compute. Sources of an average share their memory among the usual threads.
unsigned moving_threads(const ReshardJob& job, const Communicator& processes) {
  constexpr int waiting = 2;  // direct writes that a disk takes at a time
  constexpr std::uint64_t memory_of_each = 5ULL << 20;
  const unsigned usual = thread_count(job.resources, processes);
  if (job.resources.threads != 0 || job.is_view || !job.average.empty() || !writes_directly(job.output)) return usual;
  const bool is_alone = processes.local_size() == 1;
  const auto more = static_cast<unsigned>(is_alone ? waiting : int{processes.local_rank() < waiting});
  return job.resources.memory_bytes / (usual + more) < memory_of_each ? usual : usual + more;
}

/// The state that the phases of a run share.
struct Run {
  Run(const ReshardJob& its_job, const ReadBefore& its_inputs, TextTables& its_text, JobOutput& its_output,
      Stores& its_stores, Communicator& its_processes, Counters& its_counters)
      : job(its_job),
        before(its_inputs),
        text(its_text),
        output(its_output),
        stores(its_stores),
        processes(its_processes),
        counters(its_counters),
        threads(thread_count(job.resources, processes)),
        movers(moving_threads(job, processes)),
        open_files(open_files_allowed(movers, processes)) {
    report.processes = static_cast<std::uint64_t>(processes.size());
    report.threads = movers;
  }

  std::uint32_t process() const { return static_cast<std::uint32_t>(processes.rank()); }
  std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes.size()); }
  void time(const char* phase) { report.seconds[phase] += watch.end_of(phase); }

  const ReshardJob& job;
  ReadBefore before;
  TextTables& text;  ///< the tables of text that are written beside the job's files; they have been looked at
  JobOutput& output;
  Stores& stores;
  Communicator& processes;
  Counters& counters;
  unsigned threads;
  unsigned movers;         ///< threads of the exchange
  std::size_t open_files;  ///< that each cache may hold
  Report report = {};
  Stopwatch watch = {};
};

// ---- Look: both sides of the job

/// Checks that the output overwrites nothing that is read, and nothing that these programs did not write.
void check_places(Run& run, const ReshardSides& sides) {
  agree(run.processes, [&] {
    Output* place = run.output.place();
    if (place == nullptr) return;
    for (const Checkpoint* each : sides.checkpoints())
      place->check_sources(each->paths_read_by(run.process(), run.process_count()));
    place->check_sources(run.text.paths_read());
    const Layout& target = sides.target.placement.layout();
    auto sidecars = sidecar_names(sides.checkpoint, target, *sides.store);
    if (!sides.index_name.empty()) sidecars.push_back(sides.index_name);
    sidecars.insert(sidecars.end(), sides.model.others.begin(), sides.model.others.end());
    if (const DirectoryIndex* const index = sides.store->index(); index != nullptr && !sides.index_name.empty())
      for (const std::string_view name : index->companions()) sidecars.emplace_back(name);
    if (run.processes.rank() == 0) place->check_replaceable(target, sidecars, *sides.store);
  });
}

/// Nothing in files shows whether a layout that somebody wrote has forgotten the parts of a fused tensor.
void tell_fused(const Run& run, const Placement& source) {
  if (!run.job.source.layout || run.processes.rank() != 0) return;
  if (const auto fused = fused_without_parts(source); !fused.empty())
    log::info(
        "{} has no \"parts\" for {}: wrong where Q, K and V, or gate and up, were each cut by themselves; "
        "\"parts\": {{\"dim\": D, \"count\": 1}} says that it is meant",
        source.layout().origin, join(fused, 4));
}

ReshardSides look(Run& run) {
  run.counters.phase = Phase::catalog;
  ReshardSides sides = resolve_sides(run.job, run.before, run.stores, run.processes, run.counters);
  run.report.format = sides.store->name();
  run.time("catalog");
  run.counters.phase = Phase::plan;
  check_places(run, sides);
  if (!run.job.mixes_steps)
    agree(run.processes, [&] {
      for (const Checkpoint* each : sides.checkpoints()) check_same_step(*each);
    });
  warn_of_layouts(run.job, run.stores, sides);
  describe(sides, run.report);
  tell_fused(run, sides.source.placement);
  return sides;
}

// ---- Plan: how the bytes get from one side to the other, and in which memory

ExchangeKind exchange_kind(Run& run, const ReshardSides& sides) {
  const bool is_shared = sides.checkpoint.is_shared();
  const bool has_tables = !sides.tables.moves.empty();
  return choose_exchange(wanted_exchange(run.job, has_tables, is_shared, run.processes.size()), is_shared,
                         run.processes);
}

/// Whether a chunk of the usual size takes only short runs of the source: of elements that a map transposes and stacks
/// along an inner dimension. Each such chunk goes over all pages of many tensors.
bool has_short_runs(const Planner& planner, ArrayId array, std::uint32_t process) {
  constexpr std::uint64_t usual_chunk = 2ULL << 20;  // as the exchange `direct` makes them
  constexpr std::uint64_t short_run = 512;           // eight of them in each page of 4 KiB, at least
  const Placement& target = planner.target();
  const auto& members = target.arrays()[array].members;
  if (members.size() != 1 || planner.links(members.front()) == nullptr) return false;
  Position card = 0;
  while (card < target.mesh().size() && !target.holds(card, array)) ++card;
  if (card == target.mesh().size()) return false;
  const std::uint64_t element = std::max<std::uint64_t>(target.tensors()[members.front()].dtype.size, 1);
  const std::uint64_t count = std::min(numel(target.stored_shape(array, card)), usual_chunk / element);
  std::uint64_t bytes = 0;
  std::uint64_t runs = 0;
  planner.for_each_transfer({card, array, {0, count}, count * element}, process, [&](const Transfer& transfer) {
    const Shape size = transfer.source.box.shape();
    const auto in_source = strided_copy(size, transfer.source.strides, transfer.source.strides, transfer.element);
    bytes += in_source.bytes();
    runs += in_source.run == 0 ? 0 : in_source.bytes() / in_source.run;
  });
  return count * element >= usual_chunk / 2 && runs > bytes / short_run;
}

/// Whether more than a quarter of a map's arrays are such. Looks at some of them.
bool many_have_short_runs(const Planner& planner, std::uint32_t process) {
  constexpr std::size_t most = 32;
  const std::size_t count = planner.target().arrays().size();
  const std::size_t step = std::max<std::size_t>(ceil_div(count, most), 1);
  std::size_t looked_at = 0;
  std::size_t found = 0;
  for (std::size_t array = 0; array < count; array += step, ++looked_at)
    if (has_short_runs(planner, static_cast<ArrayId>(array), process)) ++found;
  return found * 4 > looked_at;
}

/// Chunks of short runs need more memory than the windows through which they go over all pages, part after part.
MemoryShares for_large_chunks(const MemoryShares& shares, unsigned threads) {
  constexpr std::uint64_t windows_of_thread = 16ULL << 20;  // a part of each source file at a time is enough
  // The exchange's largest chunk, 256 MiB, and room for its scratch and for whole pages.
  constexpr std::uint64_t chunk_of_thread = 260ULL << 20;
  const std::uint64_t all = shares.windows + shares.rest;
  const std::uint64_t windows = std::min(shares.windows, threads * windows_of_thread);
  MemoryShares divided = shares;
  divided.rest = std::max(shares.rest, std::min(all - windows, threads * chunk_of_thread));
  divided.windows = all - divided.rest;
  return divided;
}

/// Whether the processes of a node read so much of the same blocks that the page cache serves them better: there, one
/// process finds what another has read, but a block that is read once takes about twice as long.
bool read_blocks_together(const Run& run, const ReshardSides& sides, const MovePlan& moves) {
  constexpr double most_readers = 1.5;
  if (!moves.readers.is_shared() || run.processes.local_size() == 1) return false;
  if (!sides.tables.moves.empty()) return true;  // rows go by key, which the plan does not know
  const std::vector<std::uint32_t> hosts = host_numbers(run.processes);
  std::vector<std::uint32_t> here;
  for (std::uint32_t process = 0; process < hosts.size(); ++process)
    if (hosts[process] == hosts[run.process()]) here.push_back(process);
  return readers_of_block(moves.planner, moves.shares, here, DirectBlocks::usual_block) > most_readers;
}

/// It refers to the sides, which must outlive it, and its parts refer to one another.
struct Plan {
  Plan(Run& run, const ReshardSides& sides)
      : kind(exchange_kind(run, sides)), moves(sides, kind, run.job, host_numbers(run.processes)) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// The exchange's share of memory that it does not use.
  std::uint64_t spare_memory() const { return memory.rest - std::min(memory.rest, exchange->staging_bytes()); }

  ExchangeKind kind;
  MovePlan moves;
  MemoryShares memory;
  std::optional<Views> views;  ///< if the output is to have no data
  std::unique_ptr<Exchange> exchange;
  std::optional<SourceReader> reader;
  bool uses_direct_io = false;  ///< whether source data outside the page cache is read with direct I/O
};

/// Checks what the output is to be called and to say, and divides the memory. Collective.
void share_memory(Run& run, const ReshardSides& sides, Plan& plan) {
  agree(run.processes, [&] {
    check_target_names(sides.checkpoint, plan.moves.planner, plan.moves.shares.owned_by(run.process()), *sides.store);
    if (run.processes.rank() == 0)
      check_manifest_size(sides.target.placement, run.job.output.is_single_file, run.job.is_verified());
    const bool holds_texts = !sides.store->traits().streams_texts || !sides.checkpoint.is_shared() ||
                             run.job.output.is_pipe || run.job.is_view;
    plan.memory = divide_memory(run.job.resources.memory_bytes, sides, plan.moves.planner, holds_texts);
    if (run.processes.rank() == 0 && !plan.memory.shortage.empty()) log::warn("{}", plan.memory.shortage);
    set_decoding_memory(run.stores.reading(), sides.checkpoints(), plan.memory.chunks);
    if (run.job.is_view)
      plan.views.emplace(sides.checkpoint, plan.moves.planner, *sides.store, run.job.output.path,
                         run.job.output.is_single_file);
  });
}

std::unique_ptr<Plan> make_plan(Run& run, const ReshardSides& sides) {
  auto made = std::make_unique<Plan>(run, sides);
  Plan& plan = *made;
  share_memory(run, sides, plan);
  bool has_large_chunks = false;
  agree(run.processes, [&] { has_large_chunks = many_have_short_runs(plan.moves.planner, run.process()); });
  if (has_large_chunks && plan.kind == ExchangeKind::direct) plan.memory = for_large_chunks(plan.memory, run.movers);
  plan.exchange = make_exchange(plan.kind, run.job.resources, plan.memory.rest, run.movers, run.processes,
                                has_large_chunks || !plan.memory.shortage.empty());
  run.report.exchange = plan.exchange->name();
  run.report.staging_bytes = plan.exchange->staging_bytes() + plan.memory.windows + plan.memory.chunks;
  plan.reader.emplace(sides.checkpoint, sides.source.placement, run.stores.reading(), plan.memory.windows,
                      run.open_files);
  agree(run.processes, [&] {
    plan.uses_direct_io =
        plan.exchange->reads_ahead() && !run.job.is_view && !read_blocks_together(run, sides, plan.moves);
  });
  return made;
}

/// Ends a dry run.
void preview(Run& run, const ReshardSides& sides, Plan& plan) {
  agree(run.processes, [&] {
    preview(sides, plan.moves, run.job, plan.views ? &*plan.views : nullptr, run.report);
    if (plan.uses_direct_io)
      run.report.staging_bytes += plan.reader->direct_blocks(
          plan.spare_memory(), files_read_by(run.process(), sides.checkpoint, plan.moves.readers));
  });
  // The metadata is in memory now, as it will be in the job; all other memory of the job is staging.
  run.report.peak_bytes = run.processes.maximum(peak_resident_bytes() + run.report.staging_bytes);
  run.text.report_to(run.report);
  run.text.write(run.report);
  run.report.open_files = run.open_files;
  if (run.output.place() != nullptr && run.processes.rank() == 0) {
    run.report.free_bytes = free_space(run.job.output.path);
    run.report.refused_room =
        refused_room(run.job.output.path, run.report.bytes_to_write +
                                              text_bytes_written(sides.checkpoint, plan.moves.planner, *sides.store));
    run.report.stripes = stripes_of(run.job.output.path);
  }
  run.output.check_warnings();
  run.time("plan");
}

// ---- Check: the data that is to be read, and the room for what is to be written

void check_copies(Run& run, const ReshardSides& sides, Plan& plan) {
  const Checkpoint& checkpoint = sides.checkpoint;
  if (checkpoint.averaged() != nullptr)
    check_others(*checkpoint.averaged(), run.job.replicas, run.threads, run.open_files, run.stores.reading(),
                 *plan.exchange, run.processes);
  const Owners owners = checkpoint.is_shared() ? Owners{} : checkpoint.owners(run.process_count());
  const ReplicatedFiles replicated{.checkpoint = checkpoint,
                                   .placement = sides.source.placement,
                                   .reader = *plan.reader,
                                   .owners = owners,
                                   .is_taken = moved_by_regions(sides),
                                   .extent = run.job.replicas,
                                   .threads = run.threads};
  explain_conflict(conflict_source(checkpoint, run.stores.reading(), run.job.names, sides.expected, run.job.casts),
                   run.processes, [&] {
                     check_source(
                         {replicated, plan.moves.readers, run.stores.reading(), equal_pairs(sides), run.open_files},
                         *plan.exchange, run.processes);
                   });
}

/// Compares samples of the output with the weights of the model that it should be like: elements in wrong places fit
/// every shape.
void check_places_of_elements(Run& run, const ReshardSides& sides, Plan& plan) {
  const Reference* const model = sides.expected.reference();
  if (!run.job.target.is_like_expected || model->data() == nullptr) return;
  const Reference::Data& data = *model->data();
  std::uint64_t memory = plan.spare_memory();
  if (const DequantisedFiles* const numbers = data.checkpoint.dequantised()) numbers->set_memory(memory /= 2);
  check_likeness({.planner = plan.moves.planner,
                  .readers = plan.moves.readers,
                  .reader = *plan.reader,
                  .names = run.job.names,
                  .other = data.checkpoint,
                  .of_other = data.placement,
                  .store = run.stores.reading(),
                  .other_name = model->origin(),
                  .memory = memory,
                  .most_open = run.open_files,
                  .threads = run.threads},
                 run.job.unlike, run.processes);
  run.time("likeness");
}

/// Checks the data that is to be read. Collective; throws if it is not what the job may take.
void check(Run& run, const ReshardSides& sides, Plan& plan) {
  run.counters.phase = Phase::replicas;
  check_copies(run, sides, plan);
  run.time("replicas");
  check_places_of_elements(run, sides, plan);
}

/// Throws io if the output cannot fit where it is to go. Collective.
void check_room(Run& run, const ReshardSides& sides, const Plan& plan) {
  if (run.job.is_view || run.output.place() == nullptr) return;
  const std::uint64_t bytes =
      run.processes.sum(bytes_written_by(run.process(), plan.moves.shares, sides.target.placement));
  agree(run.processes, [&] {
    if (run.processes.rank() == 0)
      check_free_space(run.job.output.path,
                       bytes + text_bytes_written(sides.checkpoint, plan.moves.planner, *sides.store));
  });
}

// ---- Begin: the output's files, with everything but data

DirectIo direct_io(const Run& run) {
  const OutputPlace& place = run.job.output;
  if (!writes_directly(place)) return DirectIo::off;
  if (run.processes.rank() == 0) log::debug("{}: data is written past the page cache (--direct-io)", place.name());
  return place.direct_io;
}

TargetPlace target_place(Run& run, const ReshardSides& sides, const Plan& plan) {
  const ReshardJob& job = run.job;
  TargetPlace place{run.output.place(), run.output.pipe(), job.output.is_single_file};
  place.direct_io = direct_io(run);
  const bool may_share = !job.output.is_pipe && !job.is_view && may_share_blocks(existing_directory(job.output.path));
  // Hosts that see other file systems there have to agree.
  place.is_placed_as_source = run.processes.maximum(may_share ? 0 : 1) == 0;
  place.shares_blocks = place.is_placed_as_source && job.output.reflink == Reflink::automatic;
  place.keeps_trees = job.keeps_trees;
  place.dropped = sides.dropped;
  place.new_name = new_name_of(job.names);
  if (job.is_verified())
    place.fingerprints = job.output.is_pipe && !sides.store->traits().ends_with_manifest ? FingerprintPlace::report
                                                                                         : FingerprintPlace::manifest;
  if (plan.views) place.fingerprints = FingerprintPlace::views;
  place.views = plan.views ? &*plan.views : nullptr;
  place.tables = manifest_tables(sides.tables, {}, job.is_verified());
  place.history = sides.history;
  return place;
}

/// The files that are being written. It refers to sides and plan.
struct UnfinishedOutput {
  UnfinishedOutput(Run& run, const ReshardSides& sides, const Plan& plan)
      : files(sides.checkpoint, plan.moves.planner, *sides.store, target_place(run, sides, plan), plan.moves.shares,
              run.process(), run.open_files),
        content(sides.target.placement),
        sums(run.job.is_verified() ? &content : nullptr) {}

  TargetFiles files;
  ContentSums content;
  ContentSums* sums;              ///< `content`, of the written data; null if nothing is to be verified
  std::vector<Sidecar> sidecars;  ///< on process 0
  bool is_resumed = false;        ///< an earlier run of the job left some of them
  std::uint64_t kept_bytes = 0;   ///< bytes of this process that it left, found good
};

/// Decides what the files will declare. Collective; throws if their format cannot hold it.
void declare(Run& run, const ReshardSides& sides, UnfinishedOutput& made) {
  made.files.hold_texts(run.stores.reading(), run.processes);
  agree(run.processes, [&] { made.files.check_format(); });
  const std::optional<Attribute> of_models = sides.store->traits().model_attribute;
  if (run.job.target.file_bytes && of_models) made.files.add_attribute(*of_models);
  if (!run.job.deltas.empty())
    for (const Attribute& attribute : newest_attributes(sides.checkpoints())) made.files.set_attribute(attribute);
  if (run.job.has_checksums) made.files.add_checksum();
  run.time("plan");
}

/// Creates the files, with all that is not data.
void create(Run& run, const ReshardSides& sides, UnfinishedOutput& made) {
  const std::vector<std::string>& copied = sides.model.others;  // the output has them, too
  run.counters.phase = Phase::metadata;
  made.files.fetch_trees(run.stores.reading(), run.processes);
  agree(run.processes, [&] {
    if (run.processes.rank() == 0) made.sidecars = made.files.sidecars(run.stores.reading());
    if (!copied.empty())
      for (Sidecar& copy : copies_of(run.job.expectation->reference, copied, run.job.dequantised.has_value(),
                                     run.job.casts.empty() ? "" : config_dtype(sides.target.placement.tensors())))
        made.sidecars.push_back(std::move(copy));
    made.files.create(made.is_resumed, run.threads, run.stores.reading());
    if (made.sums != nullptr) made.files.add_the_rest(*made.sums);
  });
  made.files.share_rooms(run.processes);
  run.time("metadata");
}

/// Takes the output's place, or what an earlier run has left there. From here on the job writes.
void begin(Run& run, const ReshardSides& sides, const Plan& plan, UnfinishedOutput& made) {
  made.is_resumed = run.output.begin([&] {
    return run.text.describe(describe_job(sides.checkpoints(), plan.moves.planner, run.job.output.is_single_file,
                                          run.job.is_verified(), manifest_tables(sides.tables, {}, false),
                                          run.job.names.mapping ? run.job.names.mapping->json() : "",
                                          sides.history.averaged, made.files.is_placed_as_source()));
  });
  create(run, sides, made);
}

// ---- Move: the data, by regions and by keys

Finished check_earlier(Run& run, const ReshardSides& sides, const Plan& plan, UnfinishedOutput& made) {
  run.counters.phase = Phase::resume;
  const Placement& target = sides.target.placement;
  const bool is_computed = sides.checkpoint.dequantised() != nullptr || sides.checkpoint.averaged() != nullptr;
  // This run makes chunks with infinities again, so that it reports every overflow, an earlier run's too.
  const auto may_stay = [&](ArrayId array, std::span<const std::byte> data) {
    if (!is_computed && !plan.moves.casts.is_cast(array)) return true;
    const auto format = number_format(target.arrays()[array].dtype);
    return !format || !format->is_float || are_finite(*format, data.data(), data.size() / format->size);
  };
  Finished finished = find_finished(run.output.place()->journal(), target, plan.moves.shares, made.files, run.threads,
                                    *made.sums, made.kept_bytes, may_stay, run.processes);
  run.report.bytes_resumed = run.processes.sum(made.kept_bytes);
  run.time("resume");
  return finished;
}

TableShuffle::Sums move_tables(Run& run, const ReshardSides& sides, const Plan& plan, UnfinishedOutput& made,
                               const Finished& finished, Journal* journal) {
  const TablePlan& tables = sides.tables;
  if (tables.moves.empty() && tables.offsets.empty()) return {};
  TableReaders rows(sides.checkpoints(), run.stores.reading(), run.open_files);
  const ShuffleContext context{.readers = rows.all(),
                               .target = made.files,
                               .shares = plan.moves.shares,
                               .traffic = run.counters,
                               .threads = run.threads,
                               .sums = made.sums,
                               .journal = journal,
                               .finished = finished,
                               .received_bytes = received_memory(run.job.resources)};
  write_offsets(tables.offsets, context, run.processes);
  TableShuffle shuffle(tables.moves, context, run.processes);
  shuffle.run();
  return shuffle.sums();
}

/// Returns the sums of the tables' rows.
TableShuffle::Sums move(Run& run, const ReshardSides& sides, Plan& plan, UnfinishedOutput& made) {
  const Placement& target = sides.target.placement;
  SourceReader& reader = *plan.reader;
  Exchange& exchange = *plan.exchange;
  agree(run.processes, [&] {
    if (plan.uses_direct_io)
      run.report.staging_bytes += reader.read_with_direct_io(
          plan.spare_memory(), files_read_by(run.process(), sides.checkpoint, plan.moves.readers));
  });
  ChunkSequence chunks = made.files.chunks(exchange.chunk_bytes(), plan.memory.order());
  chunks.take_cells(plan.moves.casts.cells());
  if (!reader.reads_ahead()) made.files.cut_where_they_lie(chunks);
  if (run.job.output.is_pipe) chunks.take_order(made.files.order());
  const Finished finished = made.is_resumed ? check_earlier(run, sides, plan, made) : Finished();
  chunks.skip(without_tables(finished, target, sides.tables));
  const auto journal = run.output.open_journal();

  run.counters.phase = Phase::move;
  const std::uint64_t total = bytes_written_by(run.process(), plan.moves.shares, target) - made.kept_bytes;
  run.counters.bytes_total = total;
  FileWorkload work(
      {plan.moves.planner, plan.moves.casts, plan.moves.readers, reader, made.files, run.process(), run.counters,
       made.sums, journal.get(), sides.checkpoint.averaged() != nullptr && run.job.is_verified(),
       plan.kind == ExchangeKind::direct && !run.job.output.is_pipe && !made.is_resumed},
      std::move(chunks));
  if (run.output.place() != nullptr) run.output.place()->fill();
  exchange.run(work);
  reader.read_buffered();
  agree(run.processes, [&] { work.finish(run.threads); });
  TableShuffle::Sums table_sums = move_tables(run, sides, plan, made, finished, journal.get());
  run.report.bytes_to_write = run.processes.sum(total);
  run.text.report_to(run.report);
  if (run.output.place() != nullptr) run.text.begin(*run.output.place(), journal.get(), made.is_resumed);
  run.text.write(run.report);
  if (made.sums != nullptr)
    made.sums->send_to_owners([&](FileNumber file) { return made.files.owner(file); }, run.processes);
  run.report.overflows = report_overflows(work.overflows(), target, run.processes);
  warn_of_overflows(sides.checkpoint, run.processes);
  auto& seconds = run.report.seconds;
  seconds["move"] = run.watch.end_of("move");
  seconds["read"] = work.read_seconds() / run.movers;
  seconds["check"] = work.check_seconds() / run.movers;
  seconds["write"] = work.write_seconds() / run.movers;
  seconds["exchange"] = std::max(0.0, seconds["move"] - seconds["read"] - seconds["check"] - seconds["write"]);
  return table_sums;
}

// ---- Read back, and publish

/// Holds averaged sources against their manifests.
void warn_of_changed_sources(Run& run, const ReshardSides& sides) {
  if (sides.checkpoint.averaged() != nullptr && run.job.is_verified())
    warn_of_changed_sources(*sides.checkpoint.averaged(), run.job.resources, run.stores, run.processes);
}

void read_back(Run& run, const ReshardSides& sides, const Plan& plan, UnfinishedOutput& made) {
  run.counters.phase = Phase::reread;
  check_reread(sides.target.placement, made.files, *made.sums, plan.exchange->chunk_bytes(), run.threads,
               run.processes);
  run.text.reread();
  run.time("reread");
}

void publish(Run& run, const ReshardSides& sides, UnfinishedOutput& made, const TableShuffle::Sums& table_sums) {
  warn_of_changed_sources(run, sides);
  run.counters.phase = Phase::publish;
  made.files.complete_sums(run.processes);
  run.report.manifest = write_manifest({run.job, sides, run.text, made.sums, table_sums, made.sidecars}, made.files,
                                       run.output, run.processes);
  if (run.job.has_checksums) {
    if (run.process_count() > 1)
      agree(run.processes, [&] { made.files.sync(run.threads); });  // makes other nodes' writes visible
    agree(run.processes, [&] { made.files.finish(run.threads); });
  }
  agree(run.processes, [&] {
    if (run.output.place() != nullptr && run.job.output.fsync) made.files.sync(run.threads);
    for (const Checkpoint* each : sides.checkpoints())
      for (const FileNumber file : each->own_files(run.process(), run.process_count()))
        each->check_unchanged(run.stores.reading(), file);
    run.text.check_sources(run.stores);
  });
  run.output.publish();
  if (!sides.model.others.empty()) log::info("copied from {}: {}", sides.expected.origin(), join(sides.model.others));
  run.time("publish");
}

/// Ends a job whose output is there already, if it is what the job would write and not refuse; throws io if not.
void confirm(Run& run, const ReshardSides& sides) {
  const bool has_text = !run.text.layout().tables.empty();
  const std::string why = has_text ? "outputs with tables of text are not compared"
                                   : difference_from(run.job, sides, run.stores, run.processes, run.counters);
  agree(run.processes, [&] {
    if (!why.empty()) run.output.place()->refuse_complete(why);
  });
  run.time("compare");
  // The earlier run may have looked at less: --replicas trust, --unlike, without --strict.
  check(run, sides, *make_plan(run, sides));
  warn_of_changed_sources(run, sides);
  run.output.check_warnings();
  agree(run.processes, [&] {
    if (run.processes.rank() == 0) run.output.place()->remove_left_lock();
  });
  run.report.existed_complete = true;
  run.counters.phase = Phase::done;
  add_up(run.counters, run.processes, run.report);
}

/// The phases, one after the other. Everything before the output begins only looks.
Report perform(Run run) {
  const ReshardSides sides = look(run);
  if (run.output.place() != nullptr && !run.job.dry_run &&
      run.processes.maximum(run.output.place()->exists_complete() ? 1 : 0) != 0) {
    confirm(run, sides);
    return std::move(run.report);
  }
  const auto made_plan = make_plan(run, sides);
  Plan& plan = *made_plan;
  if (run.job.dry_run) {
    preview(run, sides, plan);
  } else {
    UnfinishedOutput made(run, sides, plan);
    declare(run, sides, made);
    check(run, sides, plan);
    check_room(run, sides, plan);
    begin(run, sides, plan, made);
    TableShuffle::Sums table_sums;
    if (!run.job.is_view) table_sums = move(run, sides, plan, made);
    if (run.job.verify == Verify::reread) read_back(run, sides, plan, made);
    publish(run, sides, made, table_sums);
    const bool is_foretold = run.processes.maximum(plan.memory.shortage.empty() ? 0 : 1) != 0;
    if (!is_foretold) warn_of_repeats(run.job.resources.memory_bytes, decoding_of(run.stores.reading()), run.processes);
  }
  run.counters.phase = Phase::done;
  add_up(run.counters, run.processes, run.report);
  if (run.processes.rank() == 0 && run.report.bytes_cloned != 0)
    log::debug("{}: shares {:.2f} GiB of its {:.2f} GiB with its source (--reflink)", run.job.output.name(),
               double(run.report.bytes_cloned) / double(1ULL << 30),
               double(run.report.bytes_written) / double(1ULL << 30));
  return std::move(run.report);
}

/// Whether there may be a map of names: the job asks for one, or the output's layout says whose names it has.
bool may_have_map(const ReshardJob& job) {
  const bool names_target = job.target.layout && !job.target.layout->names.empty();
  return job.target.is_like_expected || job.map || !job.map.sizes.empty() || names_target;
}

void check_options_beside_map(const ReshardJob& job) {
  if (job.names.takes_masters)
    throw Error(Kind::usage, "--master-weights",
                {"given with a map of names (--names, --like)", "one of the two",
                 "merge with it first, and then what that wrote, with the map"});
  if (job.is_view)
    throw Error(Kind::usage, "--virtual",
                {"given with a map of names", "one of the two: what is shown keeps the source's tensors",
                 "write the data, without --virtual"});
}

/// Returns the job's map of names, or null. The expected names select among several rules for one tensor.
std::shared_ptr<const NameMapping> mapping_of(const ReshardJob& job, const Checkpoint& source,
                                              std::shared_ptr<const ExpectedTensors>& expected, Stores& stores,
                                              Communicator& processes) {
  const bool is_like = job.target.is_like_expected;
  MapPlaces places{&source.layout(), job.target.layout ? &*job.target.layout : nullptr, is_like, {}};
  if (!is_like) places.models.push_back(job.source.path);
  places.are_sides_named = job.names.may_name_sides();
  MapWish wish;
  wish.has_states = !is_like;
  if (job.expectation) {
    places.models.push_back(job.expectation->reference);
    expected = std::make_shared<const ExpectedTensors>(job.expectation, stores.reading(), processes);
    wish.names = expected->names();
    wish.shape = [expected](const std::string& name) { return expected->shape(name); };
  }
  return load_mapping(job.map, places, std::move(wish), processes);
}

}  // namespace

Report reshard(const ReshardJob& job, Stores& stores, Communicator& processes, Counters& counters) {
  TextTables text(job, processes, counters);
  JobOutput output(job, processes);
  return output.made_by([&] {
    agree(processes, [&] {
      if (!job.average.empty() && !text.layout().tables.empty())
        throw Error(
            Kind::usage, "--average",
            {"its sources have tables by key", "tensors that cards hold", "leave the tables out of the layout"});
    });
    if (text.is_all()) return write_text(job, text, output, stores, processes, counters);
    text.look(stores);
    ReshardJob rest = text.rest_of_job();
    drop_own_average(rest.average);
    std::optional<Checkpoint> first;
    const auto open_source = [&] {
      first = Checkpoint::open(with_threads(rest.source, rest.resources, processes), stores.reading(), processes);
    };
    if (!rest.average.empty()) {
      open_source();
      leave_out_states(*first, rest.names, true, processes);
    }
    if (text.opened_source() != nullptr && !first) first = *text.opened_source();
    std::shared_ptr<const ExpectedTensors> expected;
    if (may_have_map(rest)) {
      agree(processes, [&] { check_options_beside_map(rest); });
      if (!first) open_source();
      rest.names.take_mapping(mapping_of(rest, *first, expected, stores, processes));
    }
    return perform({rest, {first ? &*first : nullptr, expected.get()}, text, output, stores, processes, counters});
  });
}

}  // namespace ckpt
