#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/mix.hpp"

namespace ckpt {

/// An event of a key, in the order of time: ordered by the layer's number, and then by whether the key has a row. 0:
/// none.
using Event = std::uint32_t;

inline Event deletion_in(std::uint64_t layer) {
  return static_cast<Event>(4 * layer + 1);
}

inline Event row_in(std::uint64_t layer, bool is_taken) {
  return static_cast<Event>(4 * layer + 2 + (is_taken ? 1 : 0));
}

/// The last event of each key, in a hash table with linear probing.
class LastEvents {
 public:
  explicit LastEvents(std::uint64_t most) : slots_(std::bit_ceil(most + most / 2 + 1)) {}

  void add(std::uint64_t key, Event event) {
    Slot& slot = slot_of(key);
    slot.key = key;
    slot.event = std::max(slot.event, event);
  }
  Event of(std::uint64_t key) { return slot_of(key).event; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Event event = 0;
  };

  /// Returns the key's slot, or the empty one where it belongs. The highest bits of a mixed key have already selected
  /// this table.
  Slot& slot_of(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mix(key) & mask;
    while (slots_[at].event != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  std::vector<Slot> slots_;
};

}  // namespace ckpt
