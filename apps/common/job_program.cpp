#include "common/job_program.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "common/job_options.hpp"
#include "common/layout_text.hpp"
#include "common/output.hpp"
#include "common/processes.hpp"
#include "common/progress.hpp"
#include "common/render.hpp"
#include "common/report_file.hpp"
#include "common/wait.hpp"

namespace ckpt::cli {

namespace {

using Json = nlohmann::json;

/// Throws usage where a process was started with other words than process 0: they would not do the same job.
void check_same_words(const Options& options, Communicator& processes) {
  const Json words(options.unshared);
  const auto all = processes.all_gather(words.dump(-1, ' ', false, Json::error_handler_t::replace));
  const auto other = std::find_if(all.begin(), all.end(), [&](const std::string& each) { return each != all[0]; });
  agree(processes, [&] {
    if (other != all.end())
      throw Error(Kind::usage, "process " + std::to_string(other - all.begin()),
                  {"other options than process 0", "expected the same on every process", "only SRC may differ"});
  });
}

/// Process 0's environment on every process: mpirun hands it to the other nodes or not, as it likes.
Environment shared_environment(Communicator& processes) {
  const Json mine(read_environment());
  const auto bytes = processes.broadcast(mine.dump(-1, ' ', false, Json::error_handler_t::replace), 0);
  return Json::parse(bytes).get<Environment>();
}

/// A job, and what there is to do around it.
struct Setup {
  Job job;
  ProgressStyle progress = ProgressStyle::none;
  std::optional<Seconds> wait_timeout;
  std::unique_ptr<ReportFile> report;
};

Setup set_up(const Program& program, const Options& options, const Environment& environment, Communicator& processes) {
  Setup setup;
  start_messages(program.manual, options.messages, processes);
  setup.job = job_from(program, options, environment);
  const auto style = parse_progress(options.progress, is_terminal());
  if (!options.messages.quiet && !options.dry_run && processes.rank() == 0) setup.progress = style;
  if (!options.wait_timeout.empty()) setup.wait_timeout = parse_wait_timeout(options.wait_timeout);
  setup.report = std::make_unique<ReportFile>();
  if (!options.report.empty() && processes.rank() == 0) setup.report = std::make_unique<ReportFile>(options.report);
  return setup;
}

void render(const Program& program, const Options& options, const Setup& setup, const Report& report,
            std::uint64_t peak_bytes) {
  if (options.dry_run && options.report != "-") {
    std::string text = dry_run_table(report);
    if (options.messages.verbose) {
      text += rule_table("rules of the source layout", report.source_rules);
      text += rule_table("rules of the target layout", report.target_rules);
    }
    print(text);
  }
  if (!options.report.empty()) setup.report->write(report_json(program, setup.job, report, peak_bytes));
  if (!options.dry_run) spdlog::info(summary(setup.job, report));
}

Report run_shown(const Setup& setup, Communicator& processes) {
  Counters counters;
  const Progress progress(counters, setup.progress);
  return run(setup.job, processes, counters);
}

void run_job(const Program& program, const Options& options, Communicator& processes) {
  const Environment environment = shared_environment(processes);
  Setup setup;
  agree(processes, [&] { setup = set_up(program, options, environment, processes); });
  if (!options.source_layout.empty()) setup.job.source_layout = read_layout(options.source_layout, processes);
  if (!options.target_layout.empty()) setup.job.target.layout = read_layout(options.target_layout, processes);
  if (!options.wait_for.empty()) wait_for_file(options.wait_for, setup.wait_timeout, processes);
  const Report report = run_shown(setup, processes);
  const std::uint64_t peak_bytes = processes.maximum(peak_resident_bytes());
  agree(processes, [&] {
    if (processes.rank() == 0) render(program, options, setup, report, peak_bytes);
  });
}

}  // namespace

int run_job_program(const Program& program, int argc, char** argv) {
  watch_interrupts();
  return run_processes(program.manual.name, [&](Communicator& processes) {
    Options options;
    agree(processes, [&] {
      options = parse_options(program, {argv + 1, argv + argc});
      if (processes.rank() == 0) print(options.asked_text);
    });
    check_same_words(options, processes);
    if (options.asked_text.empty()) run_job(program, options, processes);
    return 0;
  });
}

}  // namespace ckpt::cli
