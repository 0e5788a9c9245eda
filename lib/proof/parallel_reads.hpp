#pragma once

#include <type_traits>
#include <vector>

#include "base/parallel.hpp"

namespace ckpt {

/// What `read(item)` gives for each of these, in their order, read by so many threads at once.
template <class Item, class Read>
auto read_each(const std::vector<Item>& items, unsigned threads, const Read& read) {
  std::vector<std::invoke_result_t<Read, const Item&>> results(items.size());
  for_each_in_parallel(threads, items.size(), [&](std::uint64_t n) { results[n] = read(items[n]); });
  return results;
}

}  // namespace ckpt
