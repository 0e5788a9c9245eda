#include "cli/processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "base/limits.hpp"
#include "base/printable.hpp"
#include "cli/advice.hpp"
#include "store/helper_process.hpp"
#include "store/mapped_windows.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

/// Whether this process prints what all of them have to say when there is no communicator to ask.
bool is_first_process() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  }
  return true;
}

void print_error(const std::string& program, const std::exception& error) {
  // One write, so that nothing of another process comes between.
  const auto* known = dynamic_cast<const Error*>(&error);
  const std::string text =
      printable(program + ": error: " + (known != nullptr ? message(*known) : error.what())) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// A program that is started with a standard stream closed would give its number to the next file that it opens, and
/// write messages there.
void keep_standard_streams() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(standard, F_GETFD) == -1) ::open("/dev/null", O_RDWR);  // takes the lowest number that is free
}

int status_of(const std::exception& error, int failure) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known == nullptr ? failure : exit_status(*known, failure);
}

int run_body(const std::string& program, Communicator& processes, const std::function<int(Communicator&)>& body,
             int failure) {
  try {
    return body(processes);
  } catch (const std::exception& error) {
    const int status = status_of(error, failure);
    const bool together = processes.failed_together();
    if (!together || processes.rank() == 0) print_error(program, error);
    if (!together) processes.abandon(status);
    return status;
  }
}

}  // namespace

int exit_status(const Error& error, int failure) {
  switch (error.kind()) {
    case Kind::usage:
    case Kind::layout:
      return 2;
    case Kind::input:
    case Kind::io:
    case Kind::peer:
      return failure;
    case Kind::interrupted:
      return 128 + SIGINT;
    case Kind::terminated:
      return 128 + SIGTERM;
  }
  return failure;
}

int run_processes(const std::string& program, const std::function<int(Communicator&)>& body, int failure) {
  // A reader that goes away, a file that grows too large: an error of the write, and not the end of the job.
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  keep_standard_streams();
  leave_libraries_at_exit();
  const HelperProcess reads_metadata;  // before there are threads, and MPI has its own
  raise_open_file_limit();
  spare_addresses();
  take_bus_errors();
  prefer_shared_memory();
  try {
    const auto processes = launched_in_parallel() ? mpi_world() : solo();
    return run_body(program, *processes, body, failure);
  } catch (const std::exception& error) {
    if (is_first_process()) print_error(program, error);
    return status_of(error, failure);
  }
}

}  // namespace ckpt::cli
