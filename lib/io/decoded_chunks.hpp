#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "base/buffer.hpp"
#include "base/lru.hpp"

namespace ckpt {

/// How much has been decoded so far.
struct Decoding {
  std::uint64_t bytes = 0;        ///< all decoded bytes
  std::uint64_t again = 0;        ///< bytes of these that had been decoded before and evicted
  std::uint64_t memory_once = 0;  ///< memory with which nothing would have been decoded twice
};

/// A cache of decoded chunks of source files. It evicts the least recently used, so that all chunks, and the memory for
/// decoding, stay within a budget. One thread decodes a chunk while others wait for it. Threads may share a cache.
class DecodedChunks {
 public:
  struct Key {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    std::uint64_t dataset = 0;
    std::uint64_t chunk = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Size {
    std::uint64_t bytes = 0;     ///< of the decoded chunk
    std::uint64_t decoding = 0;  ///< memory while it is decoded, including `bytes`
  };
  using Decode = std::function<void(std::span<std::byte>)>;  ///< writes into zeros

  /// Returns how much of the budget a chunk of this size takes.
  static std::uint64_t room_of(std::uint64_t bytes);

  /// Call it before anything is decoded, or while no chunk is in use.
  void set_budget(std::uint64_t bytes);

  /// Calls use(bytes) with a chunk, after decode(bytes) if the cache does not hold it. Waits until there is room. `use`
  /// must not request another chunk. Throws input for a chunk that cannot fit.
  template <class Use>
  void with(const Key& key, const Size& size, const Decode& decode, Use&& use) {
    use_acquired(*acquire(key, size, decode, true), size, use);
  }
  /// The same, but does nothing and returns false while another thread decodes the chunk.
  template <class Use>
  [[nodiscard]] bool with_unless_busy(const Key& key, const Size& size, const Decode& decode, Use&& use) {
    Entry* const entry = acquire(key, size, decode, false);
    if (entry != nullptr) use_acquired(*entry, size, use);
    return entry != nullptr;
  }

  std::uint64_t budget() const;
  Decoding decoding() const;

 private:
  /// Zeroed memory. Small blocks come from the heap, since a system allows only 65,530 mappings.
  class Memory {
   public:
    Memory() = default;
    explicit Memory(std::uint64_t bytes);
    std::byte* data() const noexcept { return small_ ? small_.get() : large_.data(); }

   private:
    Buffer large_;
    std::unique_ptr<std::byte[]> small_;
  };
  struct Entry {
    Memory memory;
    std::uint64_t used_at = 0;  // clock_ at its last use
    unsigned users = 0;
    bool is_ready = false;
  };
  struct Release {
    DecodedChunks& chunks;
    Entry& entry;
    ~Release() { chunks.release(entry); }
  };

  template <class Use>
  void use_acquired(Entry& entry, const Size& size, Use& use) {
    const Release release{*this, entry};
    use(std::span<const std::byte>(entry.memory.data(), size.bytes));
  }

  /// Returns null where it would have to wait for another thread's decoding, and may not.
  Entry* acquire(const Key& key, const Size& size, const Decode& decode, bool may_wait);
  Entry& decode_new(std::unique_lock<std::mutex>& lock, const Key& key, const Size& size, const Decode& decode);
  bool make_room(std::uint64_t bytes);
  void count(const Key& key, const Size& size);
  void release(Entry& entry);

  std::uint64_t budget_ = 256ULL << 20;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Lru<Key, Entry> entries_;  // cost: the share of the budget
  Decoding decoding_;
  std::uint64_t clock_ = 0;              // total room of everything decoded so far
  Lru<Key, std::uint64_t> gone_{65536};  // clock_ at the last use of evicted chunks: about 10 MiB
};

}  // namespace ckpt
