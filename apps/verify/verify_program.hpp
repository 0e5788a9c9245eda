#pragma once

#include <string>

#include "common/options.hpp"
#include "engine/mismatch.hpp"

namespace ckpt::cli {

/// "1e-2" or "5e-4,3e-8": relative, absolute. Throws usage.
Tolerance parse_tolerance(const std::string& text);

/// The whole of ckpt-verify. Gives the exit status.
int run_verify_program(const Program& program, int argc, char** argv);

}  // namespace ckpt::cli
