#include "jobs/job_output.hpp"

#include <sys/stat.h>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "output/job_description.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

mode_t current_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

JobOutput::JobOutput(const ReshardJob& job, Communicator& processes) : job_(job), processes_(processes) {
  agree(processes_, [&] {
    if (job_.dry_run && (job_.output.path.empty() || job_.output.is_pipe)) return;
    if (job_.output.is_pipe) {
      if (is_first()) pipe_.emplace(PosixStream(job_.output.name(), job_.output.descriptor));
      return;
    }
    place_.emplace(job_.output);
    place_->check_source(job_.source.path);
    for (const CheckpointPlace& delta : job_.deltas) place_->check_source(delta.path);
    place_->check_sources(job_.spared_files);
    place_->check_free();
  });
}

void JobOutput::check_warnings() const {
  if (!job_.is_strict) return;
  agree(processes_, [&] {
    const std::size_t count = is_first() ? log::warnings().size() : 0;
    if (count != 0)
      throw Error(Kind::input, "",
                  {std::to_string(count) + (count == 1 ? " warning" : " warnings"),
                   "none, as this job takes them for errors",
                   "",
                   {Advice::What::accept_warnings, ""}});
  });
}

bool JobOutput::begin(const std::function<std::string()>& description) {
  check_warnings();
  if (!place_) return false;
  ::umask(value_of(0, current_mask(), processes_));  // another host may have another one: the files are of one job
  mode_t withheld = 0;
  for (const mode_t mine : gather_all(place_->withheld(), processes_)) withheld |= mine;
  mask_.emplace(withheld);
  bool go_on = false;
  std::string token;
  agree(processes_, [&] {
    if (!is_first()) return;
    place_->claim();
    token = place_->token();
    go_on = begin_job(*place_, job_.output.resume, description(), job_.is_verified());
  });
  token = processes_.broadcast(token, 0);
  agree(processes_, [&] {
    if (!is_first()) place_->join(token);
  });
  return processes_.maximum(go_on ? 1 : 0) != 0;
}

std::unique_ptr<Journal> JobOutput::open_journal() {
  std::unique_ptr<Journal> journal;
  agree(processes_, [&] {
    if (!place_) return;
    place_->check_held();
    if (job_.is_verified()) journal = std::make_unique<Journal>(place_->journal(), processes_.rank());
  });
  return journal;
}

void JobOutput::publish() {
  check_warnings();
  agree(processes_, [&] {
    check_interrupt_at_last();  // from here on only the publishing process may fail
    if (place_ && !is_first()) place_->leave();
  });
  agree(processes_, [&] {
    if (!is_first()) return;
    place_ ? place_->publish() : pipe_->finish(job_.output.fsync);
  });
}

Report JobOutput::made_by(const std::function<Report()>& make) {
  try {
    return make();
  } catch (Error& error) {
    if (place_) place_->fail(error);
    throw;
  }
}

}  // namespace ckpt
