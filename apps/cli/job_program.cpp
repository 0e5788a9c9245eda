#include "cli/job_program.hpp"

#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "cli/advice.hpp"
#include "cli/external.hpp"
#include "cli/model_choice.hpp"
#include "cli/number_types.hpp"
#include "cli/setup.hpp"
#include "jobs/reshard.hpp"
#include "jobs/value_memory.hpp"
#include "report/output.hpp"
#include "report/render.hpp"

namespace ckpt::cli {

namespace {

void show_dry_run(const Options& options, const Report& report) {
  Lines lines = dry_run_table(report);
  if (options.messages.verbose) {
    lines.add(rule_table("rules of the source layout", report.source_layout, report.source_rules));
    lines.add(rule_table("rules of the target layout", report.target_layout, report.target_rules));
  }
  print(lines);
}

/// Writes the report. The output is complete by now, so a failure is only a warning.
void write_report(const Program& program, const Setup& setup, const Report& report, std::uint64_t peak_bytes) {
  const auto& job = std::get<ReshardJob>(setup.job);
  try {
    setup.report->write(report_json({program.manual.report_name(), job, log::warnings()}, report, peak_bytes));
  } catch (const Error& error) {
    if (job.dry_run) throw;
    log::warn("{} is written, but not the report: {}", job.output.name(), message(error));
  }
}

/// Says what the job has done.
void tell(const Program& program, const ReshardJob& job, const Report& report) {
  if (report.existed_complete)
    return log::info("{} stands already, and holds what this job writes: nothing is left to do", job.output.name());
  if (program.verb == Verb::merge)
    if (const std::string note = optimizer_note(report); !note.empty()) log::info("{}", note);
  std::string last = (job.is_view ? view_summary : summary)(job.output.name(), report);
  if (const std::size_t count = log::warnings().size(); count != 0) last += ", with " + counted(count, "warning");
  log::info(last);
}

Report run_shown(const Options& options, const Setup& setup, Communicator& processes) {
  const auto& job = std::get<ReshardJob>(setup.job);
  Stores stores(formats(), value_memory(job.resources));
  allow_external(options.allow_external, stores);
  read_number_types(options.number_types, stores.numbers());
  Counters counters;
  processes.set_patience(job.resources.patience);
  const Progress progress(counters, setup.progress, processes);
  Report report = reshard(job, stores, processes, counters);
  warn_of_unused_types(options.number_types, stores.numbers(), processes);
  return report;
}

/// Adds one line to a done-file for programs that wait for the output.
class DoneNote {
 public:
  /// Throws before any work if the line or its file could not be written.
  DoneNote(const Options& options, const Setup& setup, Communicator& processes) : processes_(processes) {
    if (options.done.empty() || options.dry_run) return;
    agree(processes, [&] {
      path_ = std::get<ReshardJob>(setup.job).output.path;
      line_ = line_for(path_, setup.model_key);
      file_ = options.done;
      if (processes.rank() != 0) return;
      if (!wants_done_line(file_, *line_))
        log::warn("{} has a line for {} already: no other is added", file_.string(), line_->name());
    });
  }

  /// The output is complete by now, so a failure is only a warning.
  void write() const {
    if (!line_ || processes_.rank() != 0) return;
    try {
      add_done_line(file_, *line_, path_);
    } catch (const Error& error) {
      log::warn("{}", message(error));
    }
  }

 private:
  Communicator& processes_;
  std::filesystem::path path_;
  std::filesystem::path file_;
  std::optional<DoneLine> line_;
};

}  // namespace

int run_job_program(const Program& program, const std::vector<std::string>& words) {
  return run_program(program, words, [&](const Options& options, const Setup& setup, Communicator& processes) {
    const DoneNote done(options, setup, processes);
    const Report report = run_shown(options, setup, processes);
    const std::uint64_t peak_bytes = processes.maximum(peak_resident_bytes());
    agree(processes, [&] {
      if (processes.rank() != 0) return;
      if (options.dry_run && options.report != "-") show_dry_run(options, report);
      if (!options.report.empty()) write_report(program, setup, report, peak_bytes);
      if (!options.dry_run) tell(program, std::get<ReshardJob>(setup.job), report);
    });
    done.write();
    return 0;
  });
}

}  // namespace ckpt::cli
