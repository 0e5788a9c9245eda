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

/// Items of a sequence, dealt to threads in order. What they need is being read before it is their turn, as far as
/// there is room for it.
template <class Item>
class AheadDealer {
 public:
  struct Means {
    std::function<std::optional<Item>()> next;     ///< nothing where there are no more; called by one thread at a time
    std::function<bool()> can_ask;                 ///< whether there is room for what more items need
    std::function<void(const Item&, Lease&)> ask;  ///< begins to read what an item needs; threads call it together
  };
  struct Dealt {
    std::optional<Item> item;  ///< nothing: there are no more
    Lease held;                ///< what has been read ahead for it
  };

  explicit AheadDealer(Means means) : means_(std::move(means)) {}

  /// Throws what asking for an item does, for which then no thread waits.
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
  /// So many are asked for before their turn, if there is room for what they need: as items may be small, more than a
  /// disk must have to do while all threads work.
  static constexpr std::size_t most_asked = 512;

  struct Asked {
    Dealt dealt;
    bool is_asked = false;
  };

  /// Asks for what one more item needs, outside the lock. False where there are no more.
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
