#include "report/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace ckpt::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto bar_interval = std::chrono::milliseconds(200);
constexpr auto line_interval = std::chrono::seconds(10);
constexpr std::string_view erase_line = "\r\033[K";
constexpr std::size_t widest_bar = 30;
constexpr std::size_t narrowest_bar = 8;
constexpr Seconds rate_window(5);  ///< the time over which the shown rate averages

const char* phase_words(Phase phase) {
  switch (phase) {
    case Phase::catalog:
      return "reading metadata";
    case Phase::keys:
      return "placing and counting keys";
    case Phase::plan:
      return "planning";
    case Phase::resume:
      return "checking what an earlier run left";
    case Phase::reread:
      return "reading the output again";
    case Phase::replicas:
      return "comparing replicas";
    case Phase::metadata:
      return "making files";
    case Phase::move:
      return "moving";
    case Phase::compare:
      return "comparing";
    case Phase::publish:
      return "publishing";
    case Phase::done:
      return "done";
  }
  return "";
}

bool has_bytes(const Moment& moment) {
  return (moment.phase == Phase::move || moment.phase == Phase::compare) && moment.bytes_total > 0;
}

double fraction(const Moment& moment) {
  return std::min(1.0, double(moment.bytes_written) / double(moment.bytes_total));
}

/// The terminal's width, or 80 if it is unknown.
std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

double Rate::update(std::uint64_t bytes, Clock::time_point now) {
  const Seconds passed = now - time_;
  if (bytes == 0 || passed.count() <= 0) {
    time_ = moved_ = now;
    return rate_;
  }
  if (bytes != bytes_) moved_ = now;
  const double lately = double(bytes - bytes_) / passed.count();
  const double weight = rate_ == 0 ? 1 : 1 - std::exp(-passed / rate_window);
  rate_ = now - moved_ > rate_window ? 0 : rate_ + weight * (lately - rate_);
  bytes_ = bytes;
  time_ = now;
  return rate_;
}

ProgressStyle parse_progress(const std::string& text, bool is_terminal) {
  if (text.empty() || text == "auto") return is_terminal ? ProgressStyle::bar : ProgressStyle::lines;
  if (text == "bar") return ProgressStyle::bar;
  if (text == "lines") return ProgressStyle::lines;
  if (text == "none") return ProgressStyle::none;
  throw Error(Kind::usage, "--progress", {"'" + text + "'", "one of auto, bar, lines, none", ""});
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, std::ceil(seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string progress_line(const Moment& moment) {
  std::string text = phase_words(moment.phase);
  if (!has_bytes(moment)) return text;
  text += fmt::format(": {} of {} ({:.0f} %)", format_bytes(moment.bytes_written), format_bytes(moment.bytes_total),
                      std::floor(100 * fraction(moment)));
  if (moment.rate < 1) return text;
  const double left = double(moment.bytes_total - std::min(moment.bytes_total, moment.bytes_written)) / moment.rate;
  text += fmt::format(", {}/s", format_bytes(static_cast<std::uint64_t>(moment.rate)));
  if (left < 1e7) text += fmt::format(", {} left", format_duration(left));
  return text;
}

std::string progress_bar(const Moment& moment, std::size_t columns) {
  std::string text = progress_line(moment);
  if (has_bytes(moment) && columns > text.size() + narrowest_bar + 3) {
    const std::size_t width = std::min(widest_bar, columns - text.size() - 3);
    const auto filled = static_cast<std::size_t>(fraction(moment) * double(width));
    text = fmt::format("[{:=<{}}{:<{}}] {}", "", filled, "", width - filled, text);
  }
  return text.substr(0, columns);
}

Progress::Progress(const Counters& counters, ProgressStyle style, Communicator& processes)
    : counters_(counters), processes_(processes), style_(style) {
  processes_.share_work([this] { return Communicator::Work{counters_.bytes_written, counters_.bytes_total}; });
  if (style_ == ProgressStyle::none) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    return;  // nothing to see, but the job continues
  }
  if (style_ == ProgressStyle::bar)
    log::before_messages([] { put(erase_line); });  // they are written in the bar's place
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  const bool was_shown = thread_.joinable();
  if (was_shown) thread_.join();
  processes_.share_work({});  // which the thread may have asked for until now
  if (!was_shown || style_ != ProgressStyle::bar) return;
  log::before_messages({});
  put(erase_line);
}

void Progress::watch() {
  Rate rate;
  auto last_line = Clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, bar_interval, [this] { return stop_; })) {
    const auto now = Clock::now();
    const auto [done, total] = processes_.shared_work();
    Moment moment{counters_.phase, total, done, 0};
    moment.rate = rate.update(moment.bytes_written, now);
    if (style_ == ProgressStyle::lines && now - last_line < line_interval) continue;
    last_line = now;
    show(moment);
  }
}

void Progress::show(const Moment& moment) {
  if (style_ == ProgressStyle::lines)
    log::info(progress_line(moment));
  else
    put(std::string(erase_line) + progress_bar(moment, terminal_columns() - 1));
}

}  // namespace ckpt::cli
