#include "io/decoded_chunks.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t small_bytes = 128ULL << 10;
constexpr std::uint64_t entry_bytes = 512;      // memory for a chunk besides its data
constexpr std::size_t most_remembered = 65536;  // about 10 MiB

}  // namespace

std::size_t DecodedChunks::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t part :
       {key.device, key.inode, static_cast<std::uint64_t>(key.modified_ns), key.dataset, key.chunk})
    hash = mix(hash ^ part);
  return hash;
}

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

Decoding DecodedChunks::decoding() const {
  const std::lock_guard lock(mutex_);
  return decoding_;
}

DecodedChunks::Entry& DecodedChunks::acquire(const Key& key, const Size& size, const Decode& decode) {
  std::unique_lock lock(mutex_);
  for (;; changed_.wait(lock)) {
    const auto found = where_.find(key);
    if (found == where_.end()) {
      if (make_room(room_of(size.decoding))) return decode_new(lock, key, size, decode);
    } else if (found->second->is_ready) {
      Entry& entry = *found->second;
      order_.splice(order_.begin(), order_, found->second);
      entry.used_at = clock_;
      ++entry.users;
      return entry;
    }
  }
}

DecodedChunks::Entry& DecodedChunks::decode_new(std::unique_lock<std::mutex>& lock, const Key& key, const Size& size,
                                                const Decode& decode) {
  const auto entry = order_.insert(order_.begin(), Entry{});
  entry->key = key;
  entry->room = room_of(size.decoding);
  entry->users = 1;
  used_ += entry->room;
  where_[key] = entry;
  lock.unlock();
  try {
    entry->memory = Memory(size.bytes);
    decode({entry->memory.data(), static_cast<std::size_t>(size.bytes)});
  } catch (...) {
    lock.lock();
    let_go(entry);
    changed_.notify_all();
    throw;
  }
  lock.lock();
  used_ -= entry->room - room_of(size.bytes);
  entry->room = room_of(size.bytes);
  entry->is_ready = true;
  count(*entry, size);
  entry->used_at = clock_;
  changed_.notify_all();
  return *entry;
}

/// Evicts unused chunks until `bytes` more fit. Returns false if they do not.
bool DecodedChunks::make_room(std::uint64_t bytes) {
  if (bytes > budget_)
    throw Error(Kind::input, "",
                {"decoding a chunk takes " + format_bytes(bytes),
                 "at most " + format_bytes(budget_),
                 "",
                 {Advice::What::more_memory, ""}});
  for (auto entry = order_.end(); used_ + bytes > budget_ && entry != order_.begin();) {
    --entry;
    if (entry->users != 0) continue;
    const auto next = std::next(entry);
    gone_.emplace_front(entry->key, entry->used_at);
    where_gone_[entry->key] = gone_.begin();
    let_go(entry);
    entry = next;
  }
  for (; gone_.size() > most_remembered; gone_.pop_back()) where_gone_.erase(gone_.back().first);
  return used_ + bytes <= budget_;
}

void DecodedChunks::let_go(Entries::iterator entry) {
  used_ -= entry->room;
  where_.erase(entry->key);
  order_.erase(entry);
}

/// A chunk would have stayed cached if everything decoded since its last use had stayed, too.
void DecodedChunks::count(const Entry& entry, const Size& size) {
  decoding_.bytes += size.bytes;
  clock_ += entry.room;
  const auto found = where_gone_.find(entry.key);
  if (found == where_gone_.end()) return;
  decoding_.again += size.bytes;
  decoding_.memory_once =
      std::max(decoding_.memory_once, clock_ - found->second->second + (size.decoding - size.bytes));
  gone_.erase(found->second);
  where_gone_.erase(found);
}

void DecodedChunks::release(Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (--entry.users == 0) changed_.notify_all();
}

}  // namespace ckpt
