#include "jobs/reshard_text.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "jobs/stopwatch.hpp"
#include "jobs/summary.hpp"
#include "layout/paddle_tables.hpp"
#include "output/job_description.hpp"

namespace ckpt {

namespace {

class TextJob {
 public:
  TextJob(const ReshardJob& job, TextTables& text, Stores& stores, Communicator& processes, Counters& counters)
      : job_(job), text_(text), stores_(stores), processes_(processes), counters_(counters) {
    report_.exchange = "direct";
    report_.processes = static_cast<std::uint64_t>(processes.size());
    report_.threads = thread_count(job.resources, processes);
    report_.target_cards = text.layout().mesh.size();
    report_.target_files = file_names(text.layout()).size();
  }

  Report perform() {
    agree(processes_, [&] {
      text_.check_possible();
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
  void make() {
    counters_.phase = Phase::catalog;
    text_.look(stores_);
    text_.tell(report_);
    agree(processes_, [&] {
      if (!output_) return;
      output_->check_sources(text_.paths_read());
      if (processes_.rank() == 0) output_->plan(text_.layout(), {}, stores_.named("hdf5"));
    });
    counters_.bytes_total = report_.bytes_to_read / report_.processes;
    time("catalog");
    if (!job_.dry_run) begin();
    time("plan");
    counters_.phase = Phase::move;
    text_.write(report_);
    time("move");
    if (!job_.dry_run) finish();
  }

  bool is_verified() const { return job_.verify != Verify::none; }

  /// What makes this job this one and no other.
  std::string description() const {
    nlohmann::json job;
    job["ckpt_journal"] = 1;
    job["version"] = CKPT_VERSION;
    job["to"] = nlohmann::json::parse(to_json(text_.layout()));
    job["verify"] = is_verified();
    job["files"] = nlohmann::json::object();
    return text_.describe(job.dump());
  }

  /// Makes the place that is written to, or goes on in the one that an earlier run has left.
  void begin() {
    bool go_on = false;
    std::string token;
    agree(processes_, [&] {
      if (processes_.rank() != 0) return;
      output_->claim();
      token = output_->token();
      go_on = begin_job(*output_, job_.output.resume, description(), is_verified());
    });
    token = processes_.broadcast(token, 0);
    agree(processes_, [&] {
      if (processes_.rank() != 0) output_->join(token);
      output_->check_held();
    });
    go_on = processes_.maximum(go_on ? 1 : 0) != 0;
    agree(processes_, [&] {
      if (is_verified()) journal_.emplace(output_->journal(), processes_.rank());
    });
    text_.begin(*output_, journal_ ? &*journal_ : nullptr, go_on);
    output_->fill();
  }

  void finish() {
    if (job_.verify == Verify::reread) {
      counters_.phase = Phase::reread;
      text_.reread();
      time("reread");
    }
    counters_.phase = Phase::publish;
    agree(processes_, [&] { text_.check_sources(stores_); });
    agree(processes_, [&] {
      check_interrupt();  // for the last time: nobody may fail beside the one that publishes
      output_->check_held();
      journal_.reset();
      if (processes_.rank() != 0) output_->leave();
    });
    agree(processes_, [&] {
      if (processes_.rank() != 0) return;
      output_->write_text(manifest_name, manifest(text_.layout(), text_.manifest_files(), text_.manifest_tables()));
      output_->publish();
    });
    time("publish");
  }

  void time(const char* phase) { report_.seconds[phase] += watch_.lap(); }

  const ReshardJob& job_;
  TextTables& text_;
  Stores& stores_;
  Communicator& processes_;
  Counters& counters_;
  Report report_;
  Stopwatch watch_;
  std::optional<Output> output_;  // none where a dry run is told of none
  std::optional<Journal> journal_;
};

}  // namespace

Report write_text(const ReshardJob& job, TextTables& text, Stores& stores, Communicator& processes,
                  Counters& counters) {
  return TextJob(job, text, stores, processes, counters).perform();
}

}  // namespace ckpt
