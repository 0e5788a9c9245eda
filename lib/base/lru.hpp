#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "base/wire.hpp"

namespace ckpt {

/// Hashes a key: each member of a struct; std::hash takes any other.
template <class Key>
struct FieldsHash {
  std::size_t operator()(const Key& key) const noexcept {
    if constexpr (std::is_aggregate_v<Key>) {
      std::uint64_t hash = 0;
      const auto add = [&]<class Field>(const Field& field) {
        hash = (hash ^ std::hash<Field>{}(field)) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 32;  // the product's low bits know little of the high ones
      };
      std::apply([&](const auto&... fields) { (add(fields), ...); }, wire::members_of(key));
      return hash;
    } else {
      return std::hash<Key>{}(key);
    }
  }
};

/// Values by key in the order of their use, each at some cost. An insertion drops the least recently used as long as
/// there are more than `most` or they cost more than `most_cost` together, but never what it inserts. A value stays at
/// its address until it is dropped.
template <class Key, class Value, class Hash = FieldsHash<Key>>
class Lru {
 public:
  struct Entry {
    Key key;
    Value value;
    std::uint64_t cost = 0;
  };
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  explicit Lru(std::uint64_t most = no_limit, std::uint64_t most_cost = no_limit)
      : most_(most), most_cost_(most_cost) {}

  std::size_t size() const noexcept { return entries_.size(); }
  std::uint64_t cost() const noexcept { return cost_; }
  auto begin() const noexcept { return entries_.begin(); }  ///< the most recently used entry
  auto end() const noexcept { return entries_.end(); }

  /// Returns the value, which is now the most recently used; null if there is none.
  Value* find(const Key& key) {
    const auto found = where_.find(key);
    if (found == where_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, *found);
    return &entries_.front().value;
  }

  /// Returns the value without using it; null if there is none.
  const Value* peek(const Key& key) const {
    const auto found = where_.find(key);
    return found == where_.end() ? nullptr : &(*found)->value;
  }

  /// Adds a value as the most recently used. The key must be new.
  Value& insert(Key key, Value value, std::uint64_t cost = 0) {
    Entries added;
    added.push_front({std::move(key), std::move(value), cost});
    where_.insert(added.begin());
    entries_.splice(entries_.begin(), added);
    cost_ += cost;
    while (entries_.size() > 1 && (entries_.size() > most_ || cost_ > most_cost_)) remove(std::prev(entries_.end()));
    return entries_.front().value;
  }

  /// Changes the cost of a value that is there by `more`, which may be negative. Drops nothing.
  void add_cost(const Key& key, std::int64_t more) {
    (*where_.find(key))->cost += static_cast<std::uint64_t>(more);
    cost_ += static_cast<std::uint64_t>(more);
  }

  /// Drops the least recently used entry of those for which may_go(value) holds, and returns it.
  template <class MayGo>
  std::optional<Entry> evict(MayGo may_go) {
    const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [&](Entry& each) { return may_go(each.value); });
    return last == entries_.rend() ? std::nullopt : std::optional(remove(std::next(last).base()));
  }

  std::optional<Entry> evict() {
    return evict([](const Value&) { return true; });
  }

  void erase(const Key& key) {
    if (const auto found = where_.find(key); found != where_.end()) remove(*found);
  }

 private:
  using Entries = std::list<Entry>;
  using Place = typename Entries::iterator;

  /// Finds a place by its own key, so that each key is kept once.
  struct PlaceHash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept { return Hash{}(key); }
    std::size_t operator()(Place place) const noexcept { return Hash{}(place->key); }
  };
  struct PlaceEqual {
    using is_transparent = void;
    bool operator()(Place a, Place b) const { return a == b; }
    bool operator()(const Key& key, Place place) const { return key == place->key; }
    bool operator()(Place place, const Key& key) const { return key == place->key; }
  };

  Entry remove(Place place) {
    where_.erase(place);
    cost_ -= place->cost;
    Entry entry = std::move(*place);
    entries_.erase(place);
    return entry;
  }

  std::uint64_t most_;
  std::uint64_t most_cost_;
  std::uint64_t cost_ = 0;
  Entries entries_;  // most recently used first
  std::unordered_set<Place, PlaceHash, PlaceEqual> where_;
};

}  // namespace ckpt
