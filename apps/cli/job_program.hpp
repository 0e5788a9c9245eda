#pragma once

#include "cli/options.hpp"

namespace ckpt::cli {

/// Runs ckpt-reshard, ckpt-merge or ckpt-split: parse, resolve to a job, run, render. Returns the exit status.
int run_job_program(const Program& program, int argc, char** argv);

}  // namespace ckpt::cli
