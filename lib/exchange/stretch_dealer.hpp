#pragma once

#include <optional>
#include <utility>

#include "base/ahead_dealer.hpp"
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

  StretchDealer(Workload& work, std::uint64_t stretch_bytes)
      : dealer_({[this, &work, stretch_bytes] { return cut(work, stretch_bytes); },
                 [&work] { return work.can_read_ahead() && !work.is_far_ahead(); },
                 [&work](const Stretch& stretch, Lease& held) {
                   for (const Chunk& chunk : stretch.chunks) {
                     work.plan(chunk, [&](const Transfer& transfer) { work.read_ahead(transfer, held); });
                     work.read_ahead_to_write(chunk, held);
                   }
                 }}) {}

  /// Throws what planning a stretch does, for which then no thread waits.
  Dealt next() {
    auto dealt = dealer_.next();
    return {dealt.item ? *std::move(dealt.item) : Stretch{}, std::move(dealt.held)};
  }

 private:
  /// As many chunks as are written at once; nothing where there are no more.
  std::optional<Stretch> cut(Workload& work, std::uint64_t bytes) {
    const auto first = ahead_ ? std::exchange(ahead_, std::nullopt) : work.next();
    if (!first) return std::nullopt;
    Stretch stretch = work.alone(*first);
    while ((ahead_ = work.next()) && work.extend(stretch, *ahead_, bytes)) {
    }
    return stretch;
  }

  std::optional<Chunk> ahead_;  // the next one, if it has been looked at
  AheadDealer<Stretch> dealer_;
};

}  // namespace ckpt
