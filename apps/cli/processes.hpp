#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// 2 for the command line and layouts, 128 and its number for a signal, `failure` for the rest.
int exit_status(const Error& error, int failure = 1);

/// What every main does: arranges what holds for the whole process (standard streams, signals, limits, the helper that
/// reads metadata), starts the processes (MPI only where a launcher started several), calls `body`, prints the error
/// that leaves it once, and gives the program's exit status: `failure` for errors that are not the command line's.
int run_processes(const std::string& program, const std::function<int(Communicator&)>& body, int failure = 1);

}  // namespace ckpt::cli
