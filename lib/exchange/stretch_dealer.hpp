#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "exchange/exchange.hpp"

namespace ckpt {

/// A workload's stretches, dealt to threads in order. What they need is being read before it is their turn, where the
/// workload does that.
class StretchDealer {
 public:
  struct Dealt {
    Stretch stretch;  ///< without chunks: there are no more
    Lease held;       ///< what has been read ahead for it
  };

  StretchDealer(Workload& work, std::uint64_t stretch_bytes) : work_(work), stretch_bytes_(stretch_bytes) {}

  /// Throws what planning a stretch does, for which then no thread waits.
  Dealt next();

 private:
  struct Asked {
    Dealt dealt;
    bool is_planned = false;
  };

  /// Asks for what one more stretch needs, outside the lock. False where there are no more.
  bool ask_ahead(std::unique_lock<std::mutex>& lock);

  Workload& work_;
  std::uint64_t stretch_bytes_;
  std::mutex mutex_;
  std::condition_variable planned_;
  std::deque<std::shared_ptr<Asked>> asked_;
};

}  // namespace ckpt
