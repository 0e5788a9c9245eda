#include "sandbox/isolated.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/limits.hpp"
#include "base/wire.hpp"
#include "sandbox/helper_process.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t mebibyte = 1U << 20;

[[noreturn]] void refuse(const IsolatedWork& work, const std::string& found) {
  throw Error(Kind::input, "",
              {"reading its " + work.format + " metadata " + found, "a sound file of this format",
               "is it damaged, or hostile?"});
}

/// An undamaged file, too, may exceed the limits for a file of its size.
[[noreturn]] void refuse_beyond(const IsolatedWork& work, const std::string& limit) {
  throw Error(Kind::input, "",
              {"reading its " + work.format + " metadata takes more than " + limit,
               "no more, which is these programs' limit for a file of this size",
               "save what it has besides tensors in a file of its own; or is it damaged?"});
}

[[noreturn]] void refuse_memory(const IsolatedWork& work) {
  refuse_beyond(work, std::to_string(work.limits.memory_bytes / mebibyte) + " MiB");
}

void judge_status(int status, const IsolatedWork& work) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return;
  if (!WIFSIGNALED(status)) refuse(work, "crashed (exit status " + std::to_string(WEXITSTATUS(status)) + ")");
  const int number = WTERMSIG(status);
  const std::string name = "signal " + std::to_string(number) + ", " + ::strsignal(number);
  switch (number) {
    case SIGXCPU:
      refuse_beyond(work, std::to_string(work.limits.processor_s) + " s of the processor");
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGQUIT:
    case SIGHUP:
      check_interrupt();  // Ctrl-C in a terminal reaches this process, too
      throw Error(Kind::io, "",
                  {"reading its metadata was ended from outside (" + name + ")", "",
                   "was the job cancelled or out of memory?"});
    default:
      refuse(work, "crashed (" + name + ")");
  }
}

void judge(const ChildReport& report, const IsolatedWork& work) {
  switch (report.end) {
    case ChildReport::End::by_itself:
      return judge_status(report.status, work);
    case ChildReport::End::said_too_much:
      refuse_memory(work);
    case ChildReport::End::idle:
      // Most likely the file system is at fault: no library waits for anything else.
      throw Error(Kind::io, "",
                  {"reading its metadata has stood still for " + std::to_string(work.limits.idle_s) + " s", "",
                   "does its file system answer?"});
    case ChildReport::End::too_slow:
      refuse_beyond(work, std::to_string(work.limits.clock_s) + " s");
  }
}

std::string result_of(const ChildReport& report, const IsolatedWork& work) {
  judge(report, work);
  auto outcome = wire::unpacked<Outcome>(report.said, "what a child process said");
  if (outcome.has_exceeded_memory) refuse_memory(work);
  if (outcome.error) throw std::move(*outcome.error);
  return std::move(outcome.result);
}

std::vector<std::optional<ChildReport>> reports_of(std::span<const IsolatedWork> works) {
  if (HelperProcess* helper = HelperProcess::current()) return helper->run(works);
  std::vector<std::optional<ChildReport>> reports(works.size());
  if (is_single_threaded())
    for (std::size_t i = 0; i < works.size(); ++i) reports[i] = run_child(works[i]);
  return reports;
}

}  // namespace

std::optional<std::vector<std::string>> isolated(std::span<const IsolatedWork> works) {
  std::vector<std::string> results;
  const auto reports = reports_of(works);
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (!reports[i]) return std::nullopt;
    results.push_back(result_of(*reports[i], works[i]));
  }
  return results;
}

std::optional<std::string> isolated(const IsolatedWork& work) {
  auto results = isolated(std::span(&work, 1));
  if (!results) return std::nullopt;
  return std::move(results->front());
}

}  // namespace ckpt
