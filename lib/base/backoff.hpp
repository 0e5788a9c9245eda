#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace ckpt {

/// Pauses between two checks on work of others: short at first, as it is often done soon, then longer, since waking up
/// may cost ten microseconds.
class Backoff {
 public:
  explicit Backoff(std::chrono::microseconds longest = std::chrono::microseconds(100)) : longest_(longest) {}
  std::chrono::microseconds next() noexcept { return std::exchange(delay_, std::min(delay_ * 2, longest_)); }

 private:
  std::chrono::microseconds longest_;
  std::chrono::microseconds delay_{20};
};

}  // namespace ckpt
