#pragma once

#include "cli/options.hpp"

namespace ckpt::cli {

/// Runs ckpt-verify. Returns the exit status.
int run_verify_program(const Program& program, int argc, char** argv);

}  // namespace ckpt::cli
