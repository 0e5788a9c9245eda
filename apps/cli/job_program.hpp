#pragma once

#include "cli/options.hpp"

namespace ckpt::cli {

/// Runs reshard, merge or split: parse, resolve to a job, run, render. Returns the exit status.
int run_job_program(const Program& program, const std::vector<std::string>& words);

}  // namespace ckpt::cli
