#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/lru.hpp"
#include "base/prefetcher.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

/// Deals a workload's stretches to threads in order. Prefetches what later stretches need if the workload supports it.
/// A stretch that must wait until another thread has decoded a large chunk gives way to one that need not, as far as
/// memory holds the chunks of both.
class StretchQueue {
 public:
  struct LeasedStretch {
    Stretch stretch;  ///< without chunks: the workload has ended
    Lease lease;      ///< what was prefetched for it; until it ends, the stretch's chunk counts as being decoded
  };

  StretchQueue(Workload& work, std::uint64_t stretch_bytes)
      : work_(work),
        at_once_(work.is_written_in_order() ? 1 : work.decoded_at_once()),
        prefetcher_({[this, &work, stretch_bytes] { return cut(work, stretch_bytes); },
                     [&work] { return work.can_read_ahead() && !work.is_far_ahead(); },
                     [&work](const Stretch& stretch, Lease& lease) {
                       for (const Chunk& chunk : stretch.chunks) {
                         work.plan(chunk, [&](const Transfer& transfer) { work.read_ahead(transfer, lease); });
                         work.read_ahead_to_write(chunk, lease);
                       }
                     }}) {}

  /// Throws the errors of planning a stretch; no thread then waits for that stretch.
  LeasedStretch next() {
    if (at_once_ < 2) return next_in_order();
    const std::lock_guard lock(mutex_);
    std::size_t passed = 0;  // chunks that are being decoded
    std::optional<SourceChunk> last;
    for (std::size_t i = 0; passed < at_once_ && (i < waiting_.size() || look_ahead()); ++i) {
      const auto& chunk = waiting_[i].chunk;
      if (!chunk || !is_being_decoded(*chunk)) return take(i);
      if (chunk != last) ++passed;
      last = chunk;
    }
    return waiting_.empty() ? LeasedStretch{} : take(0);
  }

 private:
  struct Waiting {
    LeasedStretch leased;
    std::optional<SourceChunk> chunk;  ///< that must be decoded for it
  };
  static constexpr std::size_t most_waiting = 1024;
  static constexpr std::size_t most_known = 64;  // chunks

  /// Returns as many chunks as are written at once; nothing at the end.
  std::optional<Stretch> cut(Workload& work, std::uint64_t bytes) {
    const auto first = ahead_ ? std::exchange(ahead_, std::nullopt) : work.next();
    if (!first) return std::nullopt;
    Stretch stretch = work.alone(*first);
    while ((ahead_ = work.next()) && work.extend(stretch, *ahead_, bytes)) {
    }
    return stretch;
  }

  LeasedStretch next_in_order() {
    auto leased = prefetcher_.next();
    return {leased.item ? *std::move(leased.item) : Stretch{}, std::move(leased.lease)};
  }

  bool look_ahead() {
    if (waiting_.size() == most_waiting) return false;
    LeasedStretch leased = next_in_order();
    if (leased.stretch.chunks.empty()) return false;
    const auto chunk = work_.decodes(leased.stretch.chunks.back());
    waiting_.push_back({std::move(leased), chunk});
    return true;
  }

  bool is_being_decoded(const SourceChunk& chunk) {
    const bool* const is_busy = known_.find(chunk);
    return is_busy != nullptr && *is_busy;
  }

  /// Deals a stretch. If it is the first of its chunk, the chunk is being decoded until the stretch's lease ends.
  LeasedStretch take(std::size_t index) {
    Waiting taken = std::move(waiting_[index]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    if (taken.chunk && known_.find(*taken.chunk) == nullptr) {
      known_.insert(*taken.chunk, true);
      taken.leased.lease.insert(std::shared_ptr<const void>(this, [this, chunk = *taken.chunk](const void*) {
        const std::lock_guard lock(mutex_);
        if (bool* const is_busy = known_.find(chunk)) *is_busy = false;
      }));
    }
    return std::move(taken.leased);
  }

  Workload& work_;
  std::size_t at_once_;
  std::optional<Chunk> ahead_;  // the next chunk, if it has been fetched already
  Prefetcher<Stretch> prefetcher_;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  Lru<SourceChunk, bool> known_{most_known};
};

}  // namespace ckpt
