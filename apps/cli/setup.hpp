#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "cli/options.hpp"
#include "jobs/check.hpp"
#include "jobs/types/compare_job.hpp"
#include "jobs/types/reshard_job.hpp"
#include "processes/communicator.hpp"
#include "report/progress.hpp"
#include "report/report_file.hpp"

namespace ckpt::cli {

/// The jobs of ckpt-verify with two checkpoints or one, and of the other programs.
using Job = std::variant<ReshardJob, CompareJob, CheckJob>;

/// A job and its surroundings.
struct Setup {
  Job job;
  ProgressStyle progress = ProgressStyle::none;
  std::unique_ptr<ResultFile> report;
  std::unique_ptr<ResultFile> trace;
  std::string model_key;  ///< of the model that --latest chose
  Fd pipe;                ///< the job's output, on process 0
};

/// A program's own part. Returns the exit status.
using Body = std::function<int(const Options&, const Setup&, Communicator&)>;

/// The common part of programs that read whole checkpoints: starts the processes, parses the command line, resolves it
/// to a job with its layouts, waits for --wait-for, calls `body`. Returns the exit status: `failure` for errors other
/// than the command line's.
int run_program(const Program& program, const std::vector<std::string>& words, const Body& body, int failure = 1);

}  // namespace ckpt::cli
