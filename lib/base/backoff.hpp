#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace ckpt {

/// Pauses between two checks on work of others: short at first, as it is often done soon, then longer, since waking up
/// may cost ten microseconds.
class Backoff {
 public:
  std::chrono::microseconds next() noexcept { return std::exchange(delay_, std::min(delay_ * 2, longest)); }

 private:
  static constexpr std::chrono::microseconds longest{100};
  std::chrono::microseconds delay_{20};
};

}  // namespace ckpt
