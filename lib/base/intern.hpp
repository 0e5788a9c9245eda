#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_set>

namespace ckpt {

/// Returns the single copy of a value, which is never removed: a reference to it stays valid until the process ends. It
/// is thread-safe; threads with different values seldom wait for each other.
template <class T, class Hash = std::hash<T>>
const T& intern(const T& value) {
  struct Part {
    std::mutex mutex;
    std::unordered_set<T, Hash> values;
  };
  constexpr std::size_t parts = 16;
  static std::array<Part, parts> kept;
  Part& part = kept[Hash()(value) % parts];
  const std::lock_guard lock(part.mutex);
  return *part.values.insert(value).first;
}

}  // namespace ckpt
