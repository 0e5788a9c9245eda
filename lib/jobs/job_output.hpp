#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jobs/types/reshard_job.hpp"
#include "output/creation_mask.hpp"
#include "output/journal.hpp"
#include "output/output.hpp"
#include "output/pipe.hpp"

namespace ckpt {

/// The common output of a job's processes: a place (Output), a pipe, or nothing in a dry run that names none. All
/// methods but the accessors are collective.
class JobOutput {
 public:
  /// Throws as Output's checks do if the job's output cannot be written. Touches nothing.
  JobOutput(const ReshardJob& job, Communicator& processes);

  /// Null if there is none.
  Output* place() noexcept { return place_ ? &*place_ : nullptr; }
  /// The pipe, on process 0; null elsewhere, and if there is none.
  Pipe* pipe() noexcept { return pipe_ ? &*pipe_ : nullptr; }

  /// Throws input if there has been a warning and the job takes warnings for errors.
  void check_warnings() const;
  /// Makes the place that is written to. `description`: identifies this job (describe_job); only process 0 calls it.
  /// Returns true if an earlier run of the job left a place to resume from.
  bool begin(const std::function<std::string()>& description);
  /// The journal that records progress from then on; null if nothing is verified, or there is no place.
  std::unique_ptr<Journal> open_journal();
  /// Publishes the place as the output: the job's last step.
  void publish();
  /// Runs `make`, which makes the output. If it fails, the error says how to resume from what is there.
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
