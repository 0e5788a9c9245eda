#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"

namespace ckpt {

/// Returns `read(item)` for each item, in their order; `threads` threads read at once. `announce(item)` announces an
/// item to the storage some items before, and returns whether there was nothing to ask for because it is in the page
/// cache. As long as that is so, only a few items are announced.
template <class Item, class Read, class Announce>
auto read_each(const std::vector<Item>& items, unsigned threads, const Announce& announce, const Read& read) {
  constexpr std::size_t ahead = 256;
  constexpr std::size_t few = 17;  // one of this many: out of step with copies, whose numbers are powers of two
  std::vector<std::invoke_result_t<Read, const Item&>> results(items.size());
  std::atomic<bool> are_there{true};
  const auto ask = [&](std::size_t n) {
    if (n < items.size() && (!are_there || n % few == 0) && !announce(items[n])) are_there = false;
  };
  for (std::size_t n = 0; n < ahead; ++n) ask(n);
  for_each_in_parallel(threads, items.size(), [&](std::uint64_t n) {
    ask(n + ahead);
    results[n] = read(items[n]);
  });
  return results;
}

}  // namespace ckpt
