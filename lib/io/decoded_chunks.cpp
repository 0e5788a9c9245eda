#include "io/decoded_chunks.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t small_bytes = 128ULL << 10;
constexpr std::uint64_t entry_bytes = 512;  // memory for a chunk besides its data

}  // namespace

std::uint64_t DecodedChunks::room_of(std::uint64_t bytes) {
  return checked_add(bytes, entry_bytes, "a chunk");
}

DecodedChunks::Memory::Memory(std::uint64_t bytes) {
  if (bytes < small_bytes)
    small_ = std::make_unique<std::byte[]>(bytes);
  else
    large_ = Buffer(bytes);
}

void DecodedChunks::set_budget(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  budget_ = bytes;
  make_room(0);
}

std::uint64_t DecodedChunks::budget() const {
  const std::lock_guard lock(mutex_);
  return budget_;
}

Decoding DecodedChunks::decoding() const {
  const std::lock_guard lock(mutex_);
  return decoding_;
}

DecodedChunks::Entry* DecodedChunks::acquire(const Key& key, const Size& size, const Decode& decode, bool may_wait) {
  std::unique_lock lock(mutex_);
  for (;; changed_.wait(lock)) {
    Entry* const entry = entries_.find(key);
    if (entry == nullptr) {
      if (make_room(room_of(size.decoding))) return &decode_new(lock, key, size, decode);
    } else if (entry->is_ready) {
      entry->used_at = clock_;
      ++entry->users;
      return entry;
    } else if (!may_wait) {
      return nullptr;
    }
  }
}

DecodedChunks::Entry& DecodedChunks::decode_new(std::unique_lock<std::mutex>& lock, const Key& key, const Size& size,
                                                const Decode& decode) {
  Entry& entry = entries_.insert(key, {}, room_of(size.decoding));
  entry.users = 1;
  lock.unlock();
  try {
    entry.memory = Memory(size.bytes);
    decode({entry.memory.data(), static_cast<std::size_t>(size.bytes)});
  } catch (...) {
    lock.lock();
    entries_.erase(key);
    changed_.notify_all();
    throw;
  }
  lock.lock();
  entries_.add_cost(key, -static_cast<std::int64_t>(size.decoding - size.bytes));
  entry.is_ready = true;
  count(key, size);
  entry.used_at = clock_;
  changed_.notify_all();
  return entry;
}

/// Evicts unused chunks until `bytes` more fit. Returns false if they do not.
bool DecodedChunks::make_room(std::uint64_t bytes) {
  if (bytes > budget_)
    throw Error(Kind::input, "",
                {"decoding a chunk takes " + format_bytes(bytes),
                 "at most " + format_bytes(budget_),
                 "",
                 {Advice::What::more_memory, ""}});
  while (entries_.cost() + bytes > budget_) {
    const auto entry = entries_.evict([](const Entry& each) { return each.users == 0; });
    if (!entry) return false;
    gone_.insert(entry->key, entry->value.used_at);
  }
  return true;
}

/// A chunk would have stayed cached if everything decoded since its last use had stayed, too.
void DecodedChunks::count(const Key& key, const Size& size) {
  decoding_.bytes += size.bytes;
  clock_ += room_of(size.bytes);
  const std::uint64_t* const used_at = gone_.find(key);
  if (used_at == nullptr) return;
  decoding_.again += size.bytes;
  decoding_.memory_once = std::max(decoding_.memory_once, clock_ - *used_at + (size.decoding - size.bytes));
  gone_.erase(key);
}

void DecodedChunks::release(Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (--entry.users == 0) changed_.notify_all();
}

}  // namespace ckpt
