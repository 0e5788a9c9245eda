#include "cli/wait.hpp"

#include <fmt/format.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): nanosleep

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cli/model_choice.hpp"

namespace ckpt::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Seconds first_pause{0.01};
constexpr Seconds longest_pause{1.0};
constexpr Seconds between_notes{60.0};

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  const bool found = std::filesystem::exists(file, error);
  if (error) throw system_error(file.string(), "--wait-for", error.value());
  return found;
}

bool has_arrived(const WaitTarget& awaited) {
  return is_there(awaited.file) && (!awaited.line || has_done_line(awaited.file, *awaited.line));
}

/// Unlike std::this_thread::sleep_for, ends when a signal arrives.
void sleep_for(Seconds pause) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(pause).count();
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

Seconds parse_wait_timeout(const std::string& text) {
  return Seconds(parse_duration(text, "--wait-timeout"));
}

WaitTarget parse_awaited(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, {}};
  auto line = parse_day_and_pass(std::string_view(text).substr(colon + 1));
  if (!line) return {text, {}};
  return {text.substr(0, colon), std::move(line)};
}

void wait_for(const WaitTarget& awaited, std::optional<Seconds> timeout, Communicator& processes) {
  const auto start = Clock::now();
  auto next_note = start;
  const std::string host = processes.host_of(0);
  const std::string what = (awaited.line ? "the line of " + awaited.line->name() + " in " : "") +
                           awaited.file.string() + (host.empty() ? "" : " on " + host);
  const std::string limit = timeout ? fmt::format(", for {:g} s at most", timeout->count()) : "";
  for (Seconds pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    bool found = false;
    Seconds left = longest_pause;
    agree(processes, [&] {
      check_interrupt();
      if (processes.rank() != 0) return;
      found = has_arrived(awaited);
      if (!found && Clock::now() >= next_note) {
        log::info("waiting for {}, since {:.0f} s{}", what, Seconds(Clock::now() - start).count(), limit);
        next_note += std::chrono::duration_cast<Clock::duration>(between_notes);
      }
      if (timeout) left = *timeout - Seconds(Clock::now() - start);
      if (!found && left.count() <= 0)
        throw Error(Kind::io, awaited.file.string(),
                    {fmt::format("{}not there after {:g} s",
                                 awaited.line ? "the line of " + awaited.line->name() + " is " : "", timeout->count()),
                     "", "is the job that writes it still running?"})
            .passing();
    });
    if (processes.maximum(found ? 1 : 0) != 0) return;
    // The other processes' `left` is unbounded, so they may sleep longer than process 0, by less than one pause.
    sleep_for(std::min(pause, left));
  }
}

}  // namespace ckpt::cli
