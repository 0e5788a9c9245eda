#include "exchange/watchdog.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/printable.hpp"

namespace ckpt {

Watchdog::Watchdog(Communicator& processes, const std::string& message, std::chrono::milliseconds limit)
    : thread_([this, &processes, text = "error: " + printable(message) + "\n", limit] {
        std::unique_lock lock(mutex_);
        if (called_off_.wait_for(lock, limit, [this] { return is_off_; })) return;
        std::fputs(text.c_str(), stderr);  // bypasses the log, which only the first process shows: that process may be
                                           // the lost one
        processes.abandon(1);
        std::_Exit(1);
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_off_ = true;
  }
  called_off_.notify_all();
  thread_.join();
}

}  // namespace ckpt
