#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/command_line.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// 2 for the command line and layouts, 128 plus its number for a signal, 75 for what may pass, `failure` for the rest.
int exit_status(const Error& error, int failure = 1);

/// Whether the user wants this process not to join the job in whose environment it was started: --alone, or
/// CKPT_ALONE=1. Must be known before communicating with other processes. Throws usage for another value.
bool is_to_go_alone(const std::vector<std::string>& words);

void declare_alone(CommandLine& line, bool& to);

/// Prints a text that was asked for (--help, --version) and nothing else: no process is started, no other is waited
/// for, and one of a job's processes speaks for all. Returns the exit status.
enum class Stream { output, error };
int print_text(const std::string& program, const std::string& text, Stream to = Stream::output);

/// Prints the error of a program that ends before it starts MPI. Returns the exit status.
int print_refusal(const std::string& program, const Error& error);

/// Runs `parse`, and keeps what it throws until all processes can agree on it; nothing if it throws nothing.
std::exception_ptr refusal_of(const std::function<void()>& parse);

/// The common part of every verb that does work: sets up the process (standard streams, signals, limits, the helper
/// that reads metadata), starts the processes (MPI only if a launcher started several, and this one is to join them),
/// calls `body`, and prints an error that leaves it once. Returns the program's exit status: `failure` for errors other
/// than the command line's. If they do not find one another within `patience`, or 60 s if that is more, it ends the
/// process with an error.
int run_processes(const Manual& program, const std::vector<std::string>& words,
                  const std::function<int(Communicator&)>& body, int failure = 1,
                  std::chrono::seconds patience = Communicator::default_patience);

}  // namespace ckpt::cli
