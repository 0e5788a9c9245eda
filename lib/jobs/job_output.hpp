#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jobs/reshard.hpp"
#include "output/creation_mask.hpp"
#include "output/journal.hpp"
#include "output/output.hpp"
#include "output/pipe.hpp"

namespace ckpt {

/// What a job's processes write to together: a place (Output), a pipe, or, in a dry run that is told of none, nothing.
/// All but the questions are collective.
class JobOutput {
 public:
  /// Throws as Output's looks where the job's output cannot be written. Touches nothing.
  JobOutput(const ReshardJob& job, Communicator& processes);

  /// Null: there is none.
  Output* place() noexcept { return place_ ? &*place_ : nullptr; }
  /// On process 0; else, and where there is none, null.
  Pipe* pipe() noexcept { return pipe_ ? &*pipe_ : nullptr; }

  /// Makes the place that is written to. `description`: of this job and no other (describe_job), asked for on process
  /// 0. True where an earlier run of the job has left a place to go on with.
  bool begin(const std::function<std::string()>& description);
  /// Where what is done is noted, from then on; null where nothing is verified, or there is no place.
  std::unique_ptr<Journal> open_journal();
  /// Makes it the output: the job's last step.
  void publish();
  /// Runs what makes the output. Where it fails, the error says how to go on with what is there.
  Report made_by(const std::function<Report()>& make);

 private:
  bool is_first() const { return processes_.rank() == 0; }

  const ReshardJob& job_;
  Communicator& processes_;
  std::optional<Output> place_;
  std::optional<CreationMask> mask_;  // from `begin` on
  std::optional<Pipe> pipe_;
};

}  // namespace ckpt
