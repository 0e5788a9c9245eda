#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/lease.hpp"

namespace ckpt {

/// Deals the items of a sequence to threads in order. Prefetches what later items need, as far as there is room for it.
template <class Item>
class Prefetcher {
 public:
  struct Callbacks {
    std::function<std::optional<Item>()> next;          ///< nothing at the end; called by one thread at a time
    std::function<bool()> has_room;                     ///< whether there is room for what more items need
    std::function<void(const Item&, Lease&)> prefetch;  ///< starts reading what an item needs; several threads call it
                                                        ///< at once
  };
  struct LeasedItem {
    std::optional<Item> item;  ///< nothing: the sequence has ended
    Lease lease;               ///< what was prefetched for it
  };

  explicit Prefetcher(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

  /// Throws the errors of a prefetch; no thread then waits for its item.
  LeasedItem next() {
    std::unique_lock lock(mutex_);
    while (slots_.size() < most_slots && callbacks_.has_room())
      if (!prefetch_next(lock)) break;
    if (slots_.empty()) return {callbacks_.next(), {}};
    const auto first = slots_.front();
    slots_.pop_front();
    has_answer_.wait(lock, [&] { return first->is_ready; });
    return std::move(first->leased);
  }

 private:
  /// Limit on the items prefetched, if there is room for what they need: items may be small, and a disk needs more
  /// outstanding reads than there are threads.
  static constexpr std::size_t most_slots = 512;

  struct Slot {
    LeasedItem leased;
    bool is_ready = false;
  };

  /// Prefetches for one more item, outside the lock. Returns false at the end.
  bool prefetch_next(std::unique_lock<std::mutex>& lock) {
    auto item = callbacks_.next();
    if (!item) return false;
    const auto slot = slots_.emplace_back(std::make_shared<Slot>(Slot{{std::move(item), {}}}));
    lock.unlock();
    std::exception_ptr error;
    try {
      callbacks_.prefetch(*slot->leased.item, slot->leased.lease);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    slot->is_ready = true;
    has_answer_.notify_all();
    if (error) std::rethrow_exception(error);
    return true;
  }

  Callbacks callbacks_;
  std::mutex mutex_;
  std::condition_variable has_answer_;
  std::deque<std::shared_ptr<Slot>> slots_;
};

}  // namespace ckpt
