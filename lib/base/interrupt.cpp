#include "base/interrupt.hpp"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction

#include <atomic>
#include <chrono>

#include "base/error.hpp"

namespace ckpt {

namespace {

using Clock = std::chrono::steady_clock;  // clock_gettime: allowed in a handler
constexpr std::chrono::seconds one_signal(1);

std::atomic<int> recorded{0};
std::atomic<Clock::rep> recorded_at{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Clock::rep>::is_always_lock_free);

std::atomic<const Error*> end_of_work{nullptr};
std::atomic<bool> is_past_the_last{false};

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART, so that a read of standard input is interrupted
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

void record(int number) {
  const Clock::duration now = Clock::now().time_since_epoch();
  if (recorded == 0) {
    recorded_at = now.count();
    recorded = number;
  } else if (now - Clock::duration(recorded_at) >= one_signal) {
    handle(number, SIG_DFL);
    raise(number);  // it arrives when this handler returns
  }
}

}  // namespace

void watch_interrupts() {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) handle(number, record);
  }
}

void end_work(const Error& why) {
  static const Error kept = why;
  const Error* none = nullptr;
  end_of_work.compare_exchange_strong(none, &kept);
}

void check_interrupt() {
  if (const Error* why = end_of_work.load(std::memory_order_acquire)) throw Error(*why);
  if (is_past_the_last.load(std::memory_order_relaxed)) return;
  switch (recorded.load(std::memory_order_relaxed)) {
    case 0:
      return;
    case SIGINT:
      throw Error(Kind::interrupted, "ended by SIGINT");
    default:
      throw Error(Kind::terminated, "ended by SIGTERM");
  }
}

void check_interrupt_at_last() {
  check_interrupt();
  is_past_the_last = true;
}

bool is_interrupted() noexcept {
  return recorded.load(std::memory_order_relaxed) != 0 && !is_past_the_last.load(std::memory_order_relaxed);
}

}  // namespace ckpt
