#pragma once

#include "cli/options.hpp"

namespace ckpt::cli {

/// Runs verify. Returns the exit status.
int run_verify_program(const Program& program, const std::vector<std::string>& words);

}  // namespace ckpt::cli
