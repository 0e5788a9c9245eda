#include "cli/setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/trace.hpp"
#include "cli/advice.hpp"
#include "cli/job_options.hpp"
#include "cli/layout_text.hpp"
#include "cli/model_choice.hpp"
#include "cli/pipe.hpp"
#include "cli/processes.hpp"
#include "cli/wait.hpp"
#include "frameworks/describe.hpp"
#include "output/output_format.hpp"
#include "output/places.hpp"
#include "processes/clock_ahead.hpp"
#include "processes/gather_all.hpp"
#include "report/output.hpp"
#include "report/trace_file.hpp"

namespace ckpt::cli {

namespace {

/// Throws usage if a process was started with other words than process 0: they would run different jobs.
void check_same_words(const Options& options, Communicator& processes) {
  const auto all = gather_all(options.unshared, processes);
  const auto other = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each != all[0]; });
  agree(processes, [&] {
    if (other != all.end())
      throw Error(
          Kind::usage, "process " + std::to_string(other - all.begin()),
          {"other options than process 0", "the same on every process", "only the checkpoints' paths may differ"});
  });
}

/// Process 0's environment on every process: mpirun may not pass it on to other nodes.
Environment shared_environment(Communicator& processes) {
  return value_of(0, read_environment(), processes);
}

Job job_from(const Program& program, const Options& options, const Environment& environment) {
  if (program.verb != Verb::verify) return reshard_job(program, options, environment);
  if (options.output.empty()) return check_job(options, environment);
  return compare_job(options, environment);
}

/// A job's layouts, first the one for what is read first.
std::pair<std::optional<Layout>*, std::optional<Layout>*> layouts_of(Job& job) {
  if (auto* const reshard = std::get_if<ReshardJob>(&job)) return {&reshard->source.layout, &reshard->target.layout};
  if (auto* const compare = std::get_if<CompareJob>(&job)) return {&compare->a.layout, &compare->b.layout};
  return {&std::get<CheckJob>(job).checkpoint.layout, nullptr};
}

/// Chooses models by the done-files, once nothing is left to wait for. Process 0 reads them for all. Collective.
void take_latest(const Options& options, Setup& setup, Communicator& processes) {
  std::vector<std::string> paths;  // the source's, then the deltas'
  std::string key;
  bool is_base = false;
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    const ModelChoice choice = choose_model(options.model, options.latest);
    paths.push_back(choice.source().string());
    for (const auto& delta : choice.deltas()) paths.push_back(delta.string());
    key = choice.newest().key;
    is_base = choice.lines.front().is_base();
  });
  paths = value_of(0, paths, processes);
  setup.model_key = processes.broadcast(key, 0);
  auto& job = std::get<ReshardJob>(setup.job);
  job.source.path = paths.front();
  for (std::size_t i = 1; i < paths.size(); ++i) job.deltas.push_back({paths[i], {}});
  log::info("--latest {}: {}", options.latest, join(paths));
  if (is_base && !job.output.is_single_file)
    log::warn(
        "{} is a base: it has only the rows above its thresholds, to serve from; training goes on from a checkpoint",
        paths.front());
}

/// Whether a checkpoint has a layout with it, so that no other one is wanted. Collective.
bool carries_layout(const std::filesystem::path& path, Communicator& processes) {
  std::error_code error;
  const bool is_ours =
      std::filesystem::is_regular_file(path, error) || std::filesystem::exists(path / manifest_name, error);
  return processes.maximum(is_ours ? 1 : 0) != 0;
}

/// Whether a directory's metadata say how it is cut, and this layout adds nothing to them. Collective.
bool describes_itself(const std::filesystem::path& path, const Layout& given, Communicator& processes) {
  bool is_described = false;
  agree(processes, [&] {
    const auto found = SelfDescribed::find(path);
    is_described = found && !found->completes(given);
  });
  return processes.maximum(is_described ? 1 : 0) != 0;
}

/// The layouts of checkpoints that are averaged: each one's own, else `common`, unless it carries one. One that
/// describes itself gets it only where none needs it. The first one is the job's source. Collective.
void read_layouts_of_average(std::vector<WeightedPlace>& average, std::optional<Layout>& common,
                             Communicator& processes) {
  std::vector<WeightedPlace*> described;
  bool is_needed = false;
  for (WeightedPlace& each : average) {
    if (!each.layout.empty()) {
      each.place.layout = read_layout(each.layout, each.place.path, processes);
    } else if (common && !carries_layout(each.place.path, processes)) {
      if (describes_itself(each.place.path, *common, processes)) {
        described.push_back(&each);
      } else {
        each.place.layout = common;
        is_needed = true;
      }
    }
  }
  for (WeightedPlace* const each : described)
    if (is_needed)
      log::info("{} describes itself: --layout is for the other sources", each->place.path.string());
    else
      each->place.layout = common;
  if (!average.empty()) common = average.front().place.layout;
}

/// A delta without a layout of its own gets the source's. Collective.
void read_delta_layouts(const Options& options, Job& job, Communicator& processes) {
  auto* const reshard = std::get_if<ReshardJob>(&job);
  if (reshard == nullptr || reshard->deltas.empty()) return;
  std::optional<Layout> layout = reshard->source.layout;
  if (!options.delta_layout.empty()) layout = read_layout(options.delta_layout, options.source, processes);
  for (CheckpointPlace& delta : reshard->deltas) {
    const bool carries_one = options.delta_layout.empty() && carries_layout(delta.path, processes);
    if (!carries_one) delta.layout = layout;
  }
}

/// `is_pipe`: whether the output goes to one; `standard_output`: its descriptor.
Setup set_up(const Program& program, const Options& options, const Environment& environment, bool is_pipe,
             Fd standard_output, Communicator& processes) {
  Setup setup;
  start_messages(program.manual, options.messages, processes);
  setup.job = job_from(program, options, environment);
  if (is_pipe) {
    check_pipe(program, options);
    auto& output = std::get<ReshardJob>(setup.job).output;
    output.is_pipe = true;
    if (processes.rank() == 0 && !options.dry_run) setup.pipe = open_pipe(options.output, std::move(standard_output));
    output.descriptor = setup.pipe.get();
  } else if (program.verb != Verb::verify && !options.output.empty()) {
    OutputPlaces(options.output).check_lengths({});  // before any waiting
    const auto& job = std::get<ReshardJob>(setup.job);
    if (job.output.is_single_file && job.format.empty()) check_ending(formats(), job.output.path.string());
    if (!options.done.empty() && !options.dry_run)
      static_cast<void>(line_for(options.output, options.model));  // too; the model is not known yet
  }
  const auto style = parse_progress(options.progress, is_terminal(STDERR_FILENO));
  if (!options.messages.quiet && !options.dry_run && processes.rank() == 0) setup.progress = style;
  const auto result = [&](const ResultKind& kind, const std::string& path) {
    if (path.empty() || processes.rank() != 0) return std::make_unique<ResultFile>();
    return std::make_unique<ResultFile>(kind, path, is_pipe ? "" : options.output);
  };
  setup.report = result(report_kind(), options.report);
  setup.trace = result(trace_kind(), options.trace);
  return setup;
}

/// Tells --report's reader how a failed job ended. Another failure here is worth only a warning.
void report_failure(const Program& program, const Setup& setup, const Error& error) {
  const auto* const job = std::get_if<ReshardJob>(&setup.job);
  if (job == nullptr) return;
  const Failure failure{error, message(error), remedy(error), exit_status(error, 1), log::errors()};
  try {
    setup.report->write(failure_json({program.manual.report_name(), *job, log::warnings()}, failure));
  } catch (const Error& unwritable) {
    log::warn("the report of the failed job is not written: {}", message(unwritable));
  }
}

/// The trace of one run of the program.
class Trace {
 public:
  Trace(const Program& program, const Options& options, const Setup& setup, Communicator& processes)
      : file_(*setup.trace),
        name_(program.manual.report_name()),
        processes_(processes),
        is_asked_for_(!options.trace.empty()) {}

  /// Begins to record, if a trace is asked for: only verbs that write have the option. Collective.
  void begin(const Setup& setup) {
    if (!is_asked_for_) return;
    ahead_ = clock_ahead(processes_);
    const Resources& resources = std::get<ReshardJob>(setup.job).resources;
    trace::begin(most_spans(processes_.size(), thread_count(resources, processes_)));
  }

  /// Gathers what all processes have recorded, and writes it. `is_whole`: all processes call this; otherwise this one's
  /// part is written, if it is the first. A failure is worth only a warning: the job has ended.
  void write(bool is_whole) const {
    if (!is_asked_for_) return;
    try {
      const ProcessTrace mine{processes_.name_of(processes_.rank()), ahead_, trace::rows()};
      const auto all = is_whole ? gather_at_first<ProcessTrace>({mine}, processes_) : std::vector<ProcessTrace>{mine};
      if (processes_.rank() == 0) file_.write(trace_json(name_, all));
    } catch (const Error& error) {
      log::warn("the trace is not written: {}", message(error));
    }
  }

 private:
  static std::int64_t clock_ahead(Communicator& processes) {
    const auto now = [] { return std::chrono::nanoseconds(trace::Clock::now().time_since_epoch()).count(); };
    const std::int64_t ahead = ckpt::clock_ahead(now, processes);
    const bool has_same_clock = processes.host_of(processes.rank()) == processes.host_of(0);
    return has_same_clock ? 0 : ahead;
  }

  ResultFile& file_;
  std::string name_;
  Communicator& processes_;
  bool is_asked_for_;
  std::int64_t ahead_ = 0;
};

int run_words(const Program& program, const Options& options, Fd standard_output, const Body& body,
              Communicator& processes) {
  const Environment environment = shared_environment(processes);
  const bool is_pipe = writes_pipe(program, options, processes);
  Setup setup;
  std::optional<Seconds> wait_timeout;
  agree(processes, [&] {
    setup = set_up(program, options, environment, is_pipe, std::move(standard_output), processes);
    if (!options.wait_timeout.empty()) wait_timeout = parse_wait_timeout(options.wait_timeout);
  });
  Trace trace(program, options, setup, processes);
  try {
    trace.begin(setup);
    const auto [source, target] = layouts_of(setup.job);
    if (!options.source_layout.empty()) *source = read_layout(options.source_layout, options.source, processes);
    if (auto* const job = std::get_if<ReshardJob>(&setup.job))
      read_layouts_of_average(job->average, *source, processes);
    if (auto* const job = std::get_if<CompareJob>(&setup.job))
      read_layouts_of_average(job->average, *source, processes);
    if (!options.target_layout.empty() && target != nullptr) {
      LayoutOfFiles read = read_layout_of_files(options.target_layout, options.source, processes);
      *target = std::move(read.layout);
      if (auto* const job = std::get_if<ReshardJob>(&setup.job)) job->target.names_files = read.names_files;
    }
    if (!options.wait_for.empty()) wait_for(parse_awaited(options.wait_for), wait_timeout, processes);
    if (!options.model.empty()) take_latest(options, setup, processes);
    read_delta_layouts(options, setup.job, processes);
    const int status = body(options, setup, processes);
    trace.write(true);
    return status;
  } catch (const Error& error) {
    const bool is_together = processes.failed_together();
    report_failure(program, setup, error);
    trace.write(is_together && !is_interrupted());  // after a signal nobody waits for messages on their way
    processes.set_failed_together(is_together);
    throw;
  }
}

}  // namespace

int run_program(const Program& program, const std::vector<std::string>& words, const Body& body, int failure) {
  watch_interrupts();
  Options options;
  std::chrono::seconds patience = Communicator::default_patience;
  const std::exception_ptr refusal = refusal_of([&] {
    options = parse_options(program, words);
    patience = patience_from(options, read_environment());
  });
  if (!options.asked_text.empty()) return print_text(program.manual.name, options.asked_text);
  Fd standard_output;
  if (options.output == "-" && program.verb == Verb::merge && !options.dry_run)
    standard_output = take_standard_output();
  const auto on_each = [&](Communicator& processes) {
    agree(processes, [&] {
      if (refusal) std::rethrow_exception(refusal);
    });
    check_same_words(options, processes);
    return run_words(program, options, std::move(standard_output), body, processes);
  };
  return run_processes(program.manual, words, on_each, failure, patience);
}

}  // namespace ckpt::cli
