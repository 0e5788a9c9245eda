#pragma once

#include <string>

#include "cli/options.hpp"
#include "processes/communicator.hpp"
#include "store/posix_file.hpp"

namespace ckpt::cli {

/// Standard output, for a checkpoint: what anybody else prints there goes to standard error from now on, so it is to be
/// taken before libraries start, which may have something to say. None where it is closed.
Fd take_standard_output();

/// Whether a program's output goes to a pipe: to standard output (-), or a named one, as process 0 finds it, unless
/// that is to be replaced. Collective.
bool writes_pipe(const Program& program, const Options& options, Communicator& processes);

/// Throws usage where a program with these options cannot write its output from the beginning to the end.
void check_pipe(const Program& program, const Options& options);

/// What the pipe called `path` is written through: `standard`, or for a named pipe one that waits until somebody opens
/// it to read. Throws usage for a terminal, io where there is none.
Fd open_pipe(const std::string& path, Fd standard);

}  // namespace ckpt::cli
