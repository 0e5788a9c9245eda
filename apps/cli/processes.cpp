#include "cli/processes.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "base/host_name.hpp"
#include "base/interrupt.hpp"
#include "base/late_notice.hpp"
#include "base/limits.hpp"
#include "base/log_line.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "cli/advice.hpp"
#include "io/mapped_windows.hpp"
#include "processes/host_of_error.hpp"
#include "processes/same_build.hpp"
#include "report/output.hpp"
#include "sandbox/helper_process.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

/// Whether this process reports for all before a communicator exists: it is the first one, or a process of the job
/// started it, perhaps alone.
bool is_first_process() {
  const std::string rank = place_in_job().rank;
  return rank.empty() || rank == "0" || job_ancestor() != JobAncestor::nothing;
}

/// Prints a line in one write, so that other processes' output cannot split it.
void print_line(const std::string& line) {
  const std::string text = printable(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_error(const Manual& program, const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  const std::string line =
      log::line(program.name, log::Level::error, known != nullptr ? message(*known, program) : error.what());
  std::fwrite(line.data(), 1, line.size(), stderr);
}

constexpr std::string_view alone_option = "--alone";
constexpr const char* alone_variable = "CKPT_ALONE";

/// Some processes of a job may start this much later than others, however soon a silent one is to end it.
constexpr std::chrono::seconds least_patience_at_start(60);

/// The processes did not find one another in time: one of them never came, or the network is down.
Error not_started(const JobPlace& place, std::chrono::seconds patience) {
  const std::string hosts = place.hosts.empty() ? "" : " (" + place.hosts + ")";
  return Error(Kind::peer, "MPI",
               {"it has not started for " + std::to_string(patience.count()) + " s; this is " + place.words() +
                    ", on " + host_name(),
                "all processes of the job to have found one another",
                "check the network between the job's hosts" + hosts + ", and that all start this program",
                {Advice::What::more_patience, ""}});
}

/// One error is enough: by how much the others wait longer than the first, which ends them, if it can be reached.
std::chrono::seconds courtesy(const std::string& rank) {
  constexpr std::size_t most = 5;
  return std::chrono::seconds(rank.size() > 1 ? 2 * most
                                              : 2 * std::min<std::size_t>(most, rank.empty() ? 0 : rank[0] - '0'));
}

/// Joins the job. MPI_Init waits silently for processes that never come, so the first of all processes that the
/// launcher started says so; the others do later, in case the first is missing. After `patience` they end.
std::unique_ptr<Communicator> joined(const Manual& program, std::chrono::seconds patience) {
  using std::chrono::seconds;
  const JobAncestor above = job_ancestor();
  const JobPlace place = place_in_job();
  patience = std::max(patience, least_patience_at_start);
  const std::string here = "this is " + place.words() + " of the job in whose environment it was started";
  const std::string how = "go alone with --alone, or " + std::string(alone_variable) + "=1";
  if (above == JobAncestor::with_mpi)
    print_line(program.name + ": started by a process that uses MPI itself (" + here +
               "); if MPI cannot start now, or waits: " + how);
  const auto say = [=] {
    print_line(program.name + ": waiting in MPI_Init for the other processes of the job: " + here +
               "; if they do not start this program, too, end it and " + how);
  };
  // MPI_Init does not return on a signal, but nothing needs cleaning up yet. A launcher ends all processes when it
  // loses one: the first speaks for them.
  const auto look = [=] {
    try {
      check_interrupt();
    } catch (const Error& interrupt) {
      if (is_first_process()) print_error(program, interrupt);
      ::_exit(exit_status(interrupt));
    }
  };
  const auto end = [=] {
    const Error error = not_started(place, patience);
    print_error(program, error);
    ::_exit(exit_status(error));
  };
  const LateNotice end_of_patience(patience + courtesy(place.rank), end);
  // Before users give up who wait 10 s for a program.
  const LateNotice notice(is_first_process() ? seconds(9) : seconds(30), say, look);
  return mpi_world();
}

/// Without this, a program started with a closed standard stream would give the stream's number to the next file that
/// it opens, and write messages into it.
void keep_standard_streams() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(standard, F_GETFD) == -1) ::open("/dev/null", O_RDWR);  // takes the lowest free number
}

void set_up_streams() {
  // If a reader goes away or a file grows too large, the write fails, and the process survives.
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  keep_standard_streams();
}

int status_of(const std::exception& error, int failure) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known == nullptr ? failure : exit_status(*known, failure);
}

int run_body(const Manual& program, Communicator& processes, const std::function<int(Communicator&)>& body,
             int failure) {
  try {
    check_same_build(processes);
    const int found = body(processes);
    processes.set_exit_status(found);  // 1: checkpoints differ. What is lost after this does not change it
    return found;
  } catch (const std::exception& error) {
    const int status = status_of(error, failure);
    const bool together = processes.failed_together();
    const auto* const own = together ? nullptr : dynamic_cast<const Error*>(&error);
    if (own != nullptr)
      print_error(program, naming_host(*own, processes.rank(), processes));
    else if (!together || processes.rank() == 0)
      print_error(program, error);
    if (!together) processes.abandon(status);
    processes.set_exit_status(status);
    return status;
  }
}

}  // namespace

int exit_status(const Error& error, int failure) {
  if (error.may_pass()) return EX_TEMPFAIL;
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

bool is_to_go_alone(const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), alone_option) != words.end()) return true;
  const char* const value = std::getenv(alone_variable);
  const std::string_view said = value != nullptr ? value : "";
  if (said.empty() || said == "0") return false;
  if (said == "1") return true;
  throw Error(Kind::usage, alone_variable, {"'" + std::string(said) + "'", "1 or 0", ""});
}

void declare_alone(CommandLine& line, bool& to) {
  line.flag(std::string(alone_option), to,
            "run as one process, whatever launcher's environment this is: for what one rank of an MPI job or one task "
            "of a Slurm step starts by itself; environment variable: CKPT_ALONE=1");
}

int print_text(const std::string& program, const std::string& text, Stream to) {
  set_up_streams();
  try {
    if (!is_first_process()) return 0;
    const bool is_output = to == Stream::output;
    const bool is_coloured = shows_colours(is_output ? STDOUT_FILENO : STDERR_FILENO);
    const std::string shown = is_coloured ? with_bold_headings(text) : text;
    if (is_output)
      print(Lines::as_they_are(shown));
    else
      std::fwrite(shown.data(), 1, shown.size(), stderr);
    return 0;
  } catch (const Error& error) {
    return print_refusal(program, error);
  }
}

int print_refusal(const std::string& program, const Error& error) {
  Manual itself;  // of no verb
  itself.name = program;
  set_up_streams();
  if (is_first_process()) print_error(itself, error);
  return exit_status(error);
}

std::exception_ptr refusal_of(const std::function<void()>& parse) {
  try {
    parse();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

int run_processes(const Manual& program, const std::vector<std::string>& words,
                  const std::function<int(Communicator&)>& body, int failure, std::chrono::seconds patience) {
  set_up_streams();
  leave_libraries_at_exit();
  const HelperProcess reads_metadata;  // before there are threads, and before MPI has its own
  raise_open_file_limit();
  spare_addresses();
  take_bus_errors();
  prefer_shared_memory();
  try {
    const bool is_alone = is_to_go_alone(words) || !launched_in_parallel();
    const auto processes = is_alone ? single_process() : joined(program, patience);
    return run_body(program, *processes, body, failure);
  } catch (const std::exception& error) {
    if (is_first_process()) print_error(program, error);
    return status_of(error, failure);
  }
}

}  // namespace ckpt::cli
