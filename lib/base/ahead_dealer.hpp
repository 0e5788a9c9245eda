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
class AheadDealer {
 public:
  struct Means {
    std::function<std::optional<Item>()> next;     ///< nothing at the end; called by one thread at a time
    std::function<bool()> can_ask;                 ///< whether there is room for what more items need
    std::function<void(const Item&, Lease&)> ask;  ///< starts reading what an item needs; several threads call it at
                                                   ///< once
  };
  struct Dealt {
    std::optional<Item> item;  ///< nothing: the sequence has ended
    Lease held;                ///< what was prefetched for it
  };

  explicit AheadDealer(Means means) : means_(std::move(means)) {}

  /// Throws the errors of a prefetch; no thread then waits for its item.
  Dealt next() {
    std::unique_lock lock(mutex_);
    while (asked_.size() < most_asked && means_.can_ask())
      if (!ask_ahead(lock)) break;
    if (asked_.empty()) return {means_.next(), {}};
    const auto first = asked_.front();
    asked_.pop_front();
    answered_.wait(lock, [&] { return first->is_asked; });
    return std::move(first->dealt);
  }

 private:
  /// Limit on the items prefetched, if there is room for what they need: items may be small, and a disk needs more
  /// outstanding reads than there are threads.
  static constexpr std::size_t most_asked = 512;

  struct Asked {
    Dealt dealt;
    bool is_asked = false;
  };

  /// Prefetches for one more item, outside the lock. Returns false at the end.
  bool ask_ahead(std::unique_lock<std::mutex>& lock) {
    auto item = means_.next();
    if (!item) return false;
    const auto asked = asked_.emplace_back(std::make_shared<Asked>(Asked{{std::move(item), {}}}));
    lock.unlock();
    std::exception_ptr error;
    try {
      means_.ask(*asked->dealt.item, asked->dealt.held);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    asked->is_asked = true;
    answered_.notify_all();
    if (error) std::rethrow_exception(error);
    return true;
  }

  Means means_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::deque<std::shared_ptr<Asked>> asked_;
};

}  // namespace ckpt
