#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "cli/options.hpp"
#include "jobs/check.hpp"
#include "jobs/compare.hpp"
#include "jobs/reshard.hpp"
#include "processes/communicator.hpp"
#include "report/progress.hpp"
#include "report/report_file.hpp"

namespace ckpt::cli {

/// What ckpt-verify does with one checkpoint or with two, and the other programs.
using Job = std::variant<ReshardJob, CompareJob, CheckJob>;

/// A job, and what there is to do around it.
struct Setup {
  Job job;
  ProgressStyle progress = ProgressStyle::none;
  std::unique_ptr<ResultFile> report;
  std::string model_key;  ///< of the model that --latest has chosen
  Fd pipe;                ///< that the job writes to, on process 0
};

/// What is a program's own. Gives the exit status.
using Body = std::function<int(const Options&, const Setup&, Communicator&)>;

/// What the programs that read checkpoints whole have in common: starts the processes, parses the command line,
/// resolves it to a job with its layouts, waits for --wait-for, calls `body`. Gives the exit status: `failure` for
/// errors that are not the command line's.
int run_program(const Program& program, int argc, char** argv, const Body& body, int failure = 1);

}  // namespace ckpt::cli
