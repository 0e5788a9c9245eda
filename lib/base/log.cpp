#include "base/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <utility>

#include "base/log_line.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"

namespace ckpt::log {

namespace {

constexpr std::array level_names{"debug", "info", "warning", "error"};

struct State {
  std::mutex mutex;
  std::string program;
  Level least = Level::info;
  bool is_muted = false;
  std::array<std::vector<std::string>, level_names.size()> captured;  ///< by level; only warnings and errors
  std::function<void()> before;
};

State& state() {
  static State state;
  return state;
}

std::vector<std::string> captured(Level level) {
  const std::lock_guard lock(state().mutex);
  return state().captured[static_cast<std::size_t>(level)];
}

/// "2026-11-26 17:30:00 " if standard error is a file; else empty.
std::string time_in_files() {
  struct stat status {};
  if (::fstat(STDERR_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return "";
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 32> text{};
  if (::localtime_r(&now, &local) == nullptr) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S ", &local)};
}

}  // namespace

std::string line(std::string_view program, Level level, std::string_view text) {
  std::string word = level_names[static_cast<std::size_t>(level)] + std::string(":");
  if (level >= Level::warning && shows_colours(STDERR_FILENO))
    word = inked(level == Level::error ? Ink::red : Ink::yellow, word);
  return time_in_files() + std::string(program) + (program.empty() ? "" : ": ") + word + " " + printable(text) + "\n";
}

void start(std::string program, Level least) {
  const std::lock_guard lock(state().mutex);
  state().program = std::move(program);
  state().least = least;
}

void mute() {
  const std::lock_guard lock(state().mutex);
  state().is_muted = true;
}

std::vector<std::string> warnings() {
  return captured(Level::warning);
}

std::vector<std::string> errors() {
  return captured(Level::error);
}

void before_messages(std::function<void()> work) {
  const std::lock_guard lock(state().mutex);
  state().before = std::move(work);
}

void put(Level level, std::string_view text) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  if (log.is_muted) return;
  const auto index = static_cast<std::size_t>(level);
  if (level >= Level::warning) log.captured[index].emplace_back(text);
  if (level < log.least) return;
  if (log.before) log.before();
  const std::string text_line = line(log.program, level, text);
  std::fwrite(text_line.data(), 1, text_line.size(), stderr);  // at once: standard error has no buffer
}

}  // namespace ckpt::log
