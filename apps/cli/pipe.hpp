#pragma once

#include <string>

#include "cli/options.hpp"
#include "io/posix_file.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// Takes standard output for a checkpoint: other output there goes to standard error from now on. To be called before
/// libraries start, which may print something. Returns no descriptor if standard output is closed.
Fd take_standard_output();

/// Whether a program's output goes to a pipe: standard output (-), or what process 0 finds to be a named pipe, unless
/// that is to be replaced. Collective.
bool writes_pipe(const Program& program, const Options& options, Communicator& processes);

/// Throws usage if a program with these options cannot write its output from beginning to end.
void check_pipe(const Program& program, const Options& options);

/// Opens the pipe called `path`: `standard`, or a named pipe, for which it waits until somebody opens it for reading.
/// Throws usage for a terminal, io if there is none.
Fd open_pipe(const std::string& path, Fd standard);

}  // namespace ckpt::cli
