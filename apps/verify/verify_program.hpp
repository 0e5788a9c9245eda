#pragma once

#include "cli/options.hpp"

namespace ckpt::cli {

/// The whole of ckpt-verify. Gives the exit status.
int run_verify_program(const Program& program, int argc, char** argv);

}  // namespace ckpt::cli
