#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace ckpt {

/// Pauses between two checks on work of others: short at first, as it is often done soon, then longer, since waking up
/// may cost ten microseconds.
class GrowingPause {
 public:
  std::chrono::microseconds next() noexcept { return std::exchange(pause_, std::min(pause_ * 2, longest)); }

 private:
  static constexpr std::chrono::microseconds longest{100};
  std::chrono::microseconds pause_{20};
};

}  // namespace ckpt
