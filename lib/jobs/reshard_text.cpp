#include "jobs/reshard_text.hpp"

#include <memory>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "jobs/summary.hpp"
#include "jobs/types/progress.hpp"
#include "layout/tables/paddle_tables.hpp"

namespace ckpt {

namespace {

class TextJob {
 public:
  TextJob(const ReshardJob& job, TextTables& text, JobOutput& output, Stores& stores, Communicator& processes,
          Counters& counters)
      : job_(job), text_(text), output_(output), stores_(stores), processes_(processes), counters_(counters) {
    report_.exchange = "direct";
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job.resources, processes);
    report_.target_cards = text.layout().mesh.size();
    report_.target_files = file_names(text.layout()).size();
  }

  Report perform() {
    counters_.phase = Phase::catalog;
    text_.look(stores_);
    text_.report_to(report_);
    agree(processes_, [&] {
      if (output_.place() == nullptr) return;
      output_.place()->check_sources(text_.paths_read());
      if (processes_.rank() == 0) output_.place()->check_replaceable(text_.layout(), {}, stores_.named("hdf5"));
    });
    counters_.bytes_total = report_.bytes_to_read / report_.processes;
    time("catalog");
    if (!job_.dry_run) begin();
    time("plan");
    counters_.phase = Phase::move;
    text_.write(report_);
    time("move");
    if (!job_.dry_run)
      finish();
    else
      report_.peak_bytes = processes_.maximum(peak_resident_bytes() + report_.staging_bytes);
    counters_.phase = Phase::done;
    add_up(counters_, processes_, report_);
    return report_;
  }

 private:
  /// Identifies this job.
  std::string description() const {
    nlohmann::json job;
    job["ckpt_journal"] = 1;
    job["version"] = CKPT_VERSION;
    job["to"] = nlohmann::json::parse(to_json(text_.layout()));
    job["verify"] = job_.is_verified();
    job["files"] = nlohmann::json::object();
    return text_.describe(job.dump());
  }

  void begin() {
    const bool go_on = output_.begin([&] { return description(); });
    journal_ = output_.open_journal();
    text_.begin(*output_.place(), journal_.get(), go_on);
    output_.place()->fill();
  }

  void finish() {
    if (job_.verify == Verify::reread) {
      counters_.phase = Phase::reread;
      text_.reread();
      time("reread");
    }
    counters_.phase = Phase::publish;
    journal_.reset();
    agree(processes_, [&] { text_.check_sources(stores_); });
    agree(processes_, [&] {
      Output& place = *output_.place();
      place.check_held();
      if (processes_.rank() == 0)
        place.write_text(manifest_name, manifest(text_.layout(), text_.manifest_files(), text_.manifest_tables()));
    });
    output_.publish();
    time("publish");
  }

  void time(const char* phase) { report_.seconds[phase] += watch_.end_of(phase); }

  const ReshardJob& job_;
  TextTables& text_;
  JobOutput& output_;
  Stores& stores_;
  Communicator& processes_;
  Counters& counters_;
  Report report_;
  Stopwatch watch_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace

Report write_text(const ReshardJob& job, TextTables& text, JobOutput& output, Stores& stores, Communicator& processes,
                  Counters& counters) {
  return TextJob(job, text, output, stores, processes, counters).perform();
}

}  // namespace ckpt
