#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "exchange/exchange.hpp"

namespace ckpt {

/// A workload's stretches, dealt to threads in order. What they need is being read before it is their turn, where the
/// workload does that.
class StretchDealer {
 public:
  struct Dealt {
    Stretch stretch;                                ///< without chunks: there are no more
    std::vector<std::shared_ptr<const void>> held;  ///< what has been read ahead for it
  };

  StretchDealer(Workload& work, std::uint64_t stretch_bytes) : work_(work), stretch_bytes_(stretch_bytes) {}

  Dealt next();

 private:
  /// False where there are no more.
  bool ask_ahead();

  Workload& work_;
  std::uint64_t stretch_bytes_;
  std::mutex mutex_;
  std::deque<Dealt> asked_;
};

}  // namespace ckpt
