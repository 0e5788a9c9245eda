#include "base/interrupt.hpp"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction

#include <atomic>

#include "base/error.hpp"

namespace ckpt {

namespace {

std::atomic<int> recorded{0};
static_assert(std::atomic<int>::is_always_lock_free);

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART, so that a read of standard input is interrupted
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

void record(int number) {
  recorded = number;
  for (const int each : {SIGINT, SIGTERM}) handle(each, SIG_DFL);
}

}  // namespace

void watch_interrupts() {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) handle(number, record);
  }
}

void check_interrupt() {
  switch (recorded.load(std::memory_order_relaxed)) {
    case 0:
      return;
    case SIGINT:
      throw Error(Kind::interrupted, "ended by SIGINT");
    default:
      throw Error(Kind::terminated, "ended by SIGTERM");
  }
}

bool is_interrupted() noexcept {
  return recorded.load(std::memory_order_relaxed) != 0;
}

}  // namespace ckpt
