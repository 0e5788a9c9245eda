#include "exchange/watchdog.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/printable.hpp"

namespace ckpt {

namespace {

bool is_interrupted() {
  try {
    check_interrupt();
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

Watchdog::Watchdog(Communicator& processes, const std::string& message, std::chrono::milliseconds limit)
    : processes_(processes),
      text_("error: " + printable(message) + "\n"),
      limit_(limit),
      was_interrupted_(is_interrupted()),
      thread_([this] { watch(); }) {}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  if (called_off_.wait_for(lock, limit_, [this] { return is_off_; })) return;
  // A launcher that ends the job sends a signal about a second before it kills: then another process has said why.
  const bool is_told = is_interrupted() && !was_interrupted_;
  // Not by the log, which only the first process shows: it may be the lost one.
  if (!is_told) std::fputs(text_.c_str(), stderr);
  processes_.abandon(1);
  std::_Exit(1);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_off_ = true;
  }
  called_off_.notify_all();
  thread_.join();
}

}  // namespace ckpt
