#pragma once

#include <mutex>
#include <type_traits>
#include <vector>

#include "base/workers.hpp"

namespace ckpt {

/// What `read(item)` gives for each of these, read by so many threads at once; in any order.
template <class Item, class Read>
auto read_each(const std::vector<Item>& items, unsigned threads, const Read& read) {
  std::vector<std::invoke_result_t<Read, const Item&>> results;
  std::mutex mutex;
  Workers workers(threads);
  TaskGroup tasks(workers);
  for (const Item& item : items)
    tasks.run([&read, &item, &mutex, &results] {
      auto result = read(item);
      const std::lock_guard lock(mutex);
      results.push_back(std::move(result));
    });
  tasks.wait();
  return results;
}

}  // namespace ckpt
