#pragma once

#include <optional>
#include <utility>

#include "base/prefetcher.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

/// Deals a workload's stretches to threads in order. Prefetches what later stretches need if the workload supports it.
class StretchQueue {
 public:
  struct LeasedStretch {
    Stretch stretch;  ///< without chunks: the workload has ended
    Lease lease;      ///< what was prefetched for it
  };

  StretchQueue(Workload& work, std::uint64_t stretch_bytes)
      : prefetcher_({[this, &work, stretch_bytes] { return cut(work, stretch_bytes); },
                     [&work] { return work.can_read_ahead() && !work.is_far_ahead(); },
                     [&work](const Stretch& stretch, Lease& lease) {
                       for (const Chunk& chunk : stretch.chunks) {
                         work.plan(chunk, [&](const Transfer& transfer) { work.read_ahead(transfer, lease); });
                         work.read_ahead_to_write(chunk, lease);
                       }
                     }}) {}

  /// Throws the errors of planning a stretch; no thread then waits for that stretch.
  LeasedStretch next() {
    auto leased = prefetcher_.next();
    return {leased.item ? *std::move(leased.item) : Stretch{}, std::move(leased.lease)};
  }

 private:
  /// Returns as many chunks as are written at once; nothing at the end.
  std::optional<Stretch> cut(Workload& work, std::uint64_t bytes) {
    const auto first = ahead_ ? std::exchange(ahead_, std::nullopt) : work.next();
    if (!first) return std::nullopt;
    Stretch stretch = work.alone(*first);
    while ((ahead_ = work.next()) && work.extend(stretch, *ahead_, bytes)) {
    }
    return stretch;
  }

  std::optional<Chunk> ahead_;  // the next chunk, if it has been fetched already
  Prefetcher<Stretch> prefetcher_;
};

}  // namespace ckpt
