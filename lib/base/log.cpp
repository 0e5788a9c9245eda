#include "base/log.hpp"

#include <array>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/printable.hpp"

namespace ckpt::log {

namespace {

constexpr std::array level_names{"debug", "info", "warning", "error"};

struct State {
  std::mutex mutex;
  std::string prefix;
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

}  // namespace

void start(std::string program, Level least) {
  const std::lock_guard lock(state().mutex);
  state().prefix = std::move(program) + ": ";
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
  const std::string line = log.prefix + level_names[index] + ": " + printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // at once: standard error has no buffer
}

}  // namespace ckpt::log
