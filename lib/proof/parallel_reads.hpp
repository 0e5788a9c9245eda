#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"

namespace ckpt {

/// What `read(item)` gives for each of these, in their order, read by so many threads at once; `announce(item)`
/// tells the storage of it some items before.
template <class Item, class Read, class Announce>
auto read_each(const std::vector<Item>& items, unsigned threads, const Announce& announce, const Read& read) {
  constexpr std::size_t ahead = 64;
  std::vector<std::invoke_result_t<Read, const Item&>> results(items.size());
  for (std::size_t n = 0; n < std::min(ahead, items.size()); ++n) announce(items[n]);
  for_each_in_parallel(threads, items.size(), [&](std::uint64_t n) {
    if (n + ahead < items.size()) announce(items[n + ahead]);
    results[n] = read(items[n]);
  });
  return results;
}

}  // namespace ckpt
