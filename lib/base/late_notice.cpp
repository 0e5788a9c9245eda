#include "base/late_notice.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace ckpt {

LateNotice::LateNotice(std::chrono::milliseconds patience, std::function<void()> say,
                       std::function<void()> look) noexcept {
  try {
    watch_ = std::thread([this, patience, say = std::move(say), look = std::move(look)] { run(patience, say, look); });
  } catch (const std::exception&) {  // no thread, or no memory for it
  }
}

void LateNotice::run(std::chrono::milliseconds left, const std::function<void()>& say,
                     const std::function<void()>& look) {
  constexpr std::chrono::milliseconds pause(100);
  std::unique_lock lock(mutex_);
  for (bool is_said = false;
       !over_.wait_for(lock, is_said ? pause : std::min(pause, left), [this] { return is_over_; });) {
    look();
    left -= std::min(pause, left);
    if (is_said || left.count() > 0) continue;
    say();
    is_said = true;
  }
}

LateNotice::~LateNotice() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (watch_.joinable()) watch_.join();
}

}  // namespace ckpt
