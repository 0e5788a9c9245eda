#pragma once

#include "cli/options.hpp"

namespace ckpt::cli {

/// The whole of ckpt-reshard, ckpt-merge and ckpt-split: parse, resolve to a job, run, render. Gives the exit status.
int run_job_program(const Program& program, int argc, char** argv);

}  // namespace ckpt::cli
