#include "cli/pipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"

namespace ckpt::cli {

namespace {

/// Whether a terminal has a size: mpirun puts a terminal without one between its output and ours.
bool has_size(int terminal) {
  winsize size{};
  return ::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
}

/// Opens a named pipe once it has a reader. Polls, because an open call that waits could not be interrupted.
Fd open_when_read(const std::string& path) {
  constexpr int pause_ms = 20;
  for (bool is_told = false;; ::poll(nullptr, 0, pause_ms)) {
    check_interrupt();
    Fd fd(retried([&] { return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); }));
    if (fd) return fd;
    if (errno != ENXIO) throw system_error(path, "open", errno);
    if (!std::exchange(is_told, true)) log::info("{}: waiting for its reader", path);
  }
}

}  // namespace

Fd take_standard_output() {
  Fd taken(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (taken && ::dup2(STDERR_FILENO, STDOUT_FILENO) == -1) ::close(STDOUT_FILENO);
  return taken;
}

bool writes_pipe(const Program& program, const Options& options, Communicator& processes) {
  if (options.output == "-" && program.verb != Verb::verify) return true;
  std::error_code error;
  const bool may_be_named = program.verb == Verb::merge && options.shard_size.empty() && !options.force;
  const bool is_named = may_be_named && processes.rank() == 0 && std::filesystem::is_fifo(options.output, error);
  return processes.maximum(is_named ? 1 : 0) != 0;
}

void check_pipe(const Program& program, const Options& options) {
  const auto refuse = [&](const char* found, const char* remedy) {
    throw Error(Kind::usage, "-o " + options.output,
                {found, "one file, written from its beginning to its end", remedy});
  };
  if (program.verb != Verb::merge || !options.shard_size.empty() || !options.like.empty())
    refuse("the output is a directory of files, and no pipe takes that",
           "write a directory and send it with tar, or merge into one file with ckpt merge");
  if (options.view)
    refuse("it is given with --virtual, but what shows other files has to stay where it is put",
           "write a file, or leave out --virtual");
  if (options.resume) refuse("it is given with --resume, but what went into a pipe is gone", "leave out --resume");
  if (options.crc)
    refuse("it is given with --crc, but a pipe gives nothing back to be summed", "leave out --crc, or write a file");
  if (options.verify == "reread")
    refuse("it is given with --verify reread, but a pipe gives nothing back",
           "compare what came out at its end: ckpt verify SRC FILE");
  if (options.output == "-" && options.report == "-" && !options.dry_run)
    refuse("--report - would be written there, too", "write the report to a file");
}

Fd open_pipe(const std::string& path, Fd standard) {
  if (path != "-") return open_when_read(path);
  if (!standard) throw Error(Kind::io, "standard output", {"it is closed", "a pipe or a file", ""});
  if (::isatty(standard.get()) != 1) return standard;
  if (has_size(standard.get()))
    throw Error(
        Kind::usage, "-o -",
        {"standard output is a terminal", "a pipe or a file", "for example: ckpt merge ... -o - | zstd > merged.zst"});
  log::info(
      "standard output passes through mpirun, which is slow and keeps in memory what its reader has not taken: a named "
      "pipe (mkfifo) is faster");
  return standard;
}

}  // namespace ckpt::cli
